"""What a proof says of the objects that it looked into."""

import hashlib
import io
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scp_ray.pipeline.purge_proof import prove_absence
from scp_ray.pipeline.text_search import Wanted
from scp_ray.testing import MemoryObjectStore

WANTED = Wanted("a", ("press the button", "turn the handle"))


def parquet(columns: Mapping[str, list[str]]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@pytest.fixture
def store() -> MemoryObjectStore:
    made = MemoryObjectStore()
    made.write("CURRENT", b'{"generation": 1}')
    made.write("folder/rows.parquet", parquet({"doc_id": ["b"], "text": ["press the button"]}))
    return made


def test_everything_is_counted_and_nothing_holds_it(store: MemoryObjectStore) -> None:
    proof = prove_absence(store, WANTED, {})
    assert proof.is_complete
    assert (proof.objects_checked, proof.probes, proof.also_in) == (2, 1, ["b"])


def test_text_of_the_document_alone_is_found(store: MemoryObjectStore) -> None:
    store.write("report.json", b'{"error": "cannot turn the handle"}')
    store.write("other.json", b'{"error": "cannot press the button"}')  # the words of b, too
    proof = prove_absence(store, WANTED, {})
    assert not proof.is_complete
    assert proof.holding == ["report.json"]


def test_rows_of_the_document_are_found(store: MemoryObjectStore) -> None:
    store.write("a.parquet", parquet({"doc_id": ["a"], "text": ["something else"]}))
    assert prove_absence(store, Wanted("a", ()), {}).holding == ["a.parquet"]


def test_tables_that_are_not_as_they_were_written_prove_nothing(store: MemoryObjectStore) -> None:
    data = store.read("folder/rows.parquet")
    checksums = {"folder": {"rows.parquet": hashlib.sha256(data).hexdigest()}}
    assert prove_absence(store, WANTED, checksums).is_complete
    store.write("folder/rows.parquet", parquet({"doc_id": ["b"], "text": ["else"]}))
    proof = prove_absence(store, WANTED, checksums)
    assert not proof.is_complete
    assert proof.unreadable == ["folder/rows.parquet: its bytes are not those that were written"]
    store.write("cut.parquet", data[:-1])
    assert len(prove_absence(store, WANTED, {}).unreadable) == 1
