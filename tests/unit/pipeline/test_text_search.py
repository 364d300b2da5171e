"""Looking for a document in files of all kinds."""

import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scp_ray.errors import ChecksumError, IndexFormatError, ObjectNotFoundError
from scp_ray.pipeline import text_search
from scp_ray.pipeline.text_search import (
    Finding,
    Wanted,
    choose_probes,
    local_copy,
    look_into,
)
from scp_ray.testing import MemoryObjectStore

PROBE = 'press the "größte"\nbutton'
WANTED = Wanted("a", (PROBE, "turn the handle"))


def write_table(path: Path, table: pa.Table) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("name", ["t.arrow", "t.parquet"])
def test_rows_of_the_document_and_of_others(name: str, tmp_path: Path) -> None:
    table = pa.table({"doc_id": ["a", "b", "c"], "n": [1, 2, 3], "text": [PROBE, f"-{PROBE}-", ""]})
    path = write_table(tmp_path / name, table)
    found = look_into(path, WANTED)
    assert found.has_rows
    assert found.owners == {PROBE: {"b"}}
    assert found.probes == frozenset()
    assert not look_into(path, Wanted("ab", ())).has_rows


def test_rows_are_not_read_as_one_text(tmp_path: Path) -> None:
    rows = {"doc_id": ["b", "c"], "text": ["turn the", " handle"]}
    path = write_table(tmp_path / "t.arrow", pa.table(rows))
    assert look_into(path, WANTED) == Finding()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([PROBE]),
        pa.array([f"x{PROBE}"], pa.large_string()),
        pa.array([PROBE.encode()]),
        pa.array([["", PROBE]]),
        pa.array([[{"deep": [PROBE], "n": 1}]]),
        pa.array([PROBE]).dictionary_encode(),
    ],
    ids=["string", "large", "bytes", "list", "nested", "dictionary"],
)
@pytest.mark.parametrize("name", ["t.arrow", "t.parquet"])
def test_text_in_tables_that_do_not_say_whose_it_is(
    name: str, column: pa.Array, tmp_path: Path
) -> None:
    path = write_table(tmp_path / name, pa.table({"n": [1.0], "column": column}))
    assert look_into(path, WANTED) == Finding(probes=frozenset({PROBE}))
    assert look_into(path, Wanted("a", ("press the button",))) == Finding()


@pytest.mark.parametrize(
    "data",
    [
        PROBE.encode(),
        b"\x00\xff" + PROBE.encode() + b"\xff",
        json.dumps({"text": PROBE}).encode(),
        json.dumps({"text": PROBE}, ensure_ascii=False).encode(),
    ],
    ids=["text", "binary", "ascii json", "json"],
)
def test_text_in_bytes(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(data)
    assert look_into(path, WANTED).probes == {PROBE}


def test_text_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    for before in range(70):
        path.write_bytes(b"." * before + PROBE.encode() + b"." * 40)
        monkeypatch.setattr(text_search, "_BLOCK_BYTES", 16)
        assert look_into(path, WANTED).probes == {PROBE}
    path.write_bytes(b"press the turn the  handle")
    assert look_into(path, WANTED).probes == frozenset()


@pytest.mark.parametrize("name", ["t.arrow", "t.parquet"])
def test_what_cannot_be_decoded(name: str, tmp_path: Path) -> None:
    path = write_table(tmp_path / name, pa.table({"doc_id": ["a"]}))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(IndexFormatError, match="cannot be decoded"):
        look_into(path, WANTED)
    with pytest.raises(FileNotFoundError):
        look_into(tmp_path / f"absent-{name}", WANTED)


def test_probes_are_spread_over_the_text() -> None:
    text = "".join(f"{number:07d}." for number in range(1200))
    probes = choose_probes([text[:5000], text[5000:]])
    assert len(probes) == len(set(probes)) == 32
    assert all(len(probe) == 48 and probe in text for probe in probes)
    places = [text.index(probe) for probe in probes]
    assert places == sorted(places)
    assert max(b - a for a, b in pairwise(places)) < 2 * len(text) / 32


def test_probes_of_short_texts() -> None:
    assert choose_probes(["Press it.", "Press it."]) == ("Press it.",)
    assert choose_probes(["Stop.", "       .   ", ""]) == ()
    long = "The handle of the pump is on the left side of it"
    assert choose_probes(["Press it.", long]) == (long,)


def test_local_copy_has_the_right_bytes_or_none() -> None:
    store = MemoryObjectStore()
    store.write("folder/object.json", b"{}")
    with local_copy(store, "folder/object.json") as path:
        assert (path.name, path.read_bytes()) == ("object.json", b"{}")
    assert not path.exists()
    with pytest.raises(ChecksumError, match="not those that were written"):  # noqa: SIM117
        with local_copy(store, "folder/object.json", "0" * 64):
            pass
    with pytest.raises(ObjectNotFoundError, match="absent"):  # noqa: SIM117
        with local_copy(store, "absent"):
            pass
