"""Generations: listing, going back, verifying."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from scp_ray.cli import main
from scp_ray.config import Settings
from scp_ray.errors import ChecksumError
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.verification import verify_index
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.generations import list_generations, roll_back
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.publish import load_current

Run = Callable[..., RunReport]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def index(run: Run, corpus: Path, tmp_path: Path, write_manual: Callable[..., Path]) -> Path:
    """Two generations: twelve manuals, then one of them changed and one more."""
    run()
    write_manual(corpus, 2, sentences=80)
    write_manual(corpus, 40)
    run()
    return tmp_path / "index"


def documents(index: Path, settings: Settings) -> int:
    reply = LocalSearcher.open(str(index), settings).answer(QueryRequest(query="pump"))
    return reply.coverage.documents


def test_generations_are_listed_and_rolled_back(
    index: Path, run: Run, small_settings: Callable[..., Settings], capsys: Capture
) -> None:
    assert main(["generations", str(index), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(row["generation"], row["is_current"]) for row in listed] == [(1, False), (2, True)]
    assert [row["documents"] for row in listed] == [12, 13]
    assert [row["parent"] for row in listed] == [None, 1]

    assert main(["rollback", str(index), "--to", "1"]) == 0
    assert "generation 1: 12 documents" in capsys.readouterr().out
    assert documents(index, small_settings()) == 12
    assert main(["generations", str(index)]) == 0
    assert "* 1 " in capsys.readouterr().out

    report = run()
    assert report.generation == 3
    assert documents(index, small_settings()) == 13
    assert load_current(LocalObjectStore(index)).parent == 1
    assert main(["rollback", str(index), "--to", "2"]) == 0
    assert documents(index, small_settings()) == 13


def test_a_generation_that_is_not_there_is_refused(index: Path, capsys: Capture) -> None:
    assert main(["rollback", str(index), "--to", "7"]) == 2
    assert "has no generation 7; there are: 1, 2" in capsys.readouterr().err


def test_a_generation_with_a_missing_file_is_not_rolled_back_to(index: Path) -> None:
    store = LocalObjectStore(index)
    current = {shard.folder for shard in load_current(store).shards}
    (first,) = [one for one in list_generations(store) if one.generation == 1]
    assert not first.is_current
    old = next(
        path
        for path in index.glob("shards/*/*")
        if path.relative_to(index).as_posix() not in current
    )
    (old / "nodes.npy").unlink()
    with pytest.raises(ChecksumError, match="nodes.npy: missing"):
        roll_back(store, 1, fence=9)
    assert load_current(store).generation == 2


def test_a_whole_index_verifies(index: Path, capsys: Capture) -> None:
    assert main(["verify", str(index)]) == 0
    captured = capsys.readouterr()
    assert "everything is as it was published" in captured.out
    assert "generation 2: 0 problems" in captured.err
    assert "generation 1: 0 problems" in captured.err


def test_every_damaged_file_is_named(index: Path) -> None:
    store = LocalObjectStore(index)
    paths = [
        path
        for path in sorted(index.rglob("*"))
        if path.is_file() and path.relative_to(index).parts[0] in ("shards", "generations")
    ]
    assert len(paths) > 30
    for path in paths:
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        if path.name == "manifest.json" and load_fails(store):
            path.write_bytes(whole)
            continue
        (problem, *_) = verify_index(store, lambda _line: None)
        assert path.relative_to(index).as_posix() in problem.detail
        path.write_bytes(whole)
    assert verify_index(store, lambda _line: None) == []


def load_fails(store: LocalObjectStore) -> bool:
    """Whether the damaged manifest is that of the current generation: then nothing opens."""
    try:
        load_current(store)
    except ChecksumError:
        return True
    return False


def test_verify_says_when_something_is_wrong(index: Path, capsys: Capture) -> None:
    victim = next(index.glob("shards/*/*/index.faiss"))
    victim.unlink()
    assert main(["verify", str(index), "--json"]) == 1
    (problem, *_) = json.loads(capsys.readouterr().out)
    assert "index.faiss: missing" in problem["detail"]


@pytest.mark.parametrize("command", [["gc", "--keep", "1"], ["rollback", "--to", "1"]])
def test_where_no_index_is_nothing_is_written(
    tmp_path: Path, command: list[str], capsys: Capture
) -> None:
    (tmp_path / "letter.txt").write_text("no index")
    name, *options = command
    assert main([name, str(tmp_path), *options]) == 1
    assert "no index here" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
