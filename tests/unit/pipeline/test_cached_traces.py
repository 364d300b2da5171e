"""What goes from the cache of a machine."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from scp_ray.pipeline.cached_traces import look_into_cache
from scp_ray.pipeline.text_search import Wanted

WANTED = Wanted("a", ("press the button",))


def put(path: Path, columns: Mapping[str, list[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return path.parent


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_no_cache(cache: Path) -> None:
    assert look_into_cache(cache, WANTED, {}).going == []


def test_folders_with_rows_of_the_document_go(cache: Path) -> None:
    going = put(cache / "shards/00001/aa/chunks.arrow", {"doc_id": ["b", "a"], "text": ["", ""]})
    put(cache / "shards/00001/bb/chunks.arrow", {"doc_id": ["b"], "text": ["press the button"]})
    put(cache / "shards/00001/bb/lexical.terms.arrow", {"term": ["press"]})
    state = look_into_cache(cache, WANTED, {})
    assert (state.going, state.num_clean_files) == ([going], 2)


@pytest.mark.parametrize(
    "key", ["generations/000001-run/terms.arrow", "shards/00001/aa/lexical.terms.arrow"]
)
def test_words_go_unless_they_are_of_what_the_index_needs(key: str, cache: Path) -> None:
    folder = put(cache / key, {"term": ["press"]})
    assert look_into_cache(cache, WANTED, {}).going == [folder]
    state = look_into_cache(cache, WANTED, {key.rpartition("/")[0]: {}})
    assert (state.going, state.num_clean_files) == ([], 1)


@pytest.mark.parametrize(
    ("name", "data", "is_going"),
    [
        (".1f.part", b"\0press the button\0", True),
        (".1f.part", b"\0turn the handle\0", False),
        ("chunks.arrow", b"cut short", True),
    ],
)
def test_what_other_processes_left(name: str, data: bytes, is_going: bool, cache: Path) -> None:
    folder = cache / "shards/00001/aa"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(data)
    assert bool(look_into_cache(cache, WANTED, {}).going) == is_going
