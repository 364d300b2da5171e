"""What goes and what stays when garbage is collected."""

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
from scp_ray.storage.garbage import Retention, collect_garbage
from scp_ray.storage.generations import list_generations, roll_back
from scp_ray.storage.lease import acquire, kept_alive
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.publish import read_fence, read_state

Run = Callable[..., RunReport]
Capture = pytest.CaptureFixture[str]
DAY_S = 86_400.0


@pytest.fixture
def index(run: Run, corpus: Path, tmp_path: Path, write_manual: Callable[..., Path]) -> Path:
    """Four generations; each changed one manual."""
    run()
    for number in range(3):
        write_manual(corpus, number, sentences=80)
        run()
    return tmp_path / "index"


def objects(index: Path) -> dict[str, int]:
    return {stored.key: stored.size_bytes for stored in LocalObjectStore(index).list()}


def collect(index: Path, keep: int, now: float = 0.0, grace_s: float = 0.0) -> list[str]:
    retention = Retention(keep, grace_s, now)
    store = LocalObjectStore(index)
    return collect_garbage(store, retention, fence=read_fence(store)).keys


def go_back(index: Path, generation: int) -> None:
    store = LocalObjectStore(index)
    roll_back(store, generation, fence=read_fence(store))


def test_kept_generations_stay_whole_and_the_rest_goes(index: Path) -> None:
    store, before = LocalObjectStore(index), objects(index)
    deleted = collect(index, keep=2)
    assert objects(index).keys() >= before.keys() - set(deleted)
    assert not objects(index).keys() & set(deleted)
    assert [one.generation for one in list_generations(store)] == [3, 4]
    assert verify_index(store, lambda _line: None) == []
    assert len([key for key in deleted if key.endswith("manifest.json")]) == 2
    assert any(key.endswith("index.faiss") for key in deleted)
    assert collect(index, keep=2) == []


def test_numbers_go_on_after_all_others_are_gone(index: Path, run: Run, corpus: Path) -> None:
    go_back(index, 2)
    collect(index, keep=1)
    assert [one.generation for one in list_generations(LocalObjectStore(index))] == [2, 4]
    go_back(index, 2)
    (corpus / "manual_005.md").unlink()
    assert run().generation == 5


def test_running_readers_keep_their_files_for_their_grace(
    index: Path, small_settings: Callable[..., Settings]
) -> None:
    store = LocalObjectStore(index)
    go_back(index, 1)
    reader = LocalSearcher.open(str(index), small_settings())
    go_back(index, 4)
    assert collect(index, keep=1, now=DAY_S, grace_s=3600.0) == []
    assert [one.generation for one in list_generations(store)] == [4]
    state = read_state(store)
    assert state.current is not None
    assert [one.entry.generation for one in state.current.retired] == [1, 2, 3]
    assert reader.answer(QueryRequest(query="pump")).generation == 1
    assert collect(index, keep=1, now=DAY_S + 3599.0, grace_s=3600.0) == []
    assert collect(index, keep=1, now=DAY_S + 3600.0, grace_s=3600.0)
    assert verify_index(store, lambda _line: None) == []


def test_what_dead_runs_left_goes_and_what_the_next_can_use_stays(index: Path) -> None:
    folder = index / "shards" / "00001" / ("0" * 64)
    folder.mkdir(parents=True)
    (folder / "index.faiss").write_bytes(b"never published")
    for run_id in ("19990101T000000-aaaa", "29990101T000000-bbbb"):
        staged = index / "runs" / run_id / "staged" / "00001"
        staged.mkdir(parents=True)
        (staged / "x.chunks.parquet").write_bytes(b"part")
        deaths = index / "runs" / run_id / "engine-deaths"
        deaths.mkdir()
        (deaths / "x.json").write_bytes(b"[]")
    deleted = collect(index, keep=9)
    assert deleted == [
        f"shards/00001/{'0' * 64}/index.faiss",
        "runs/19990101T000000-aaaa/engine-deaths/x.json",
        "runs/19990101T000000-aaaa/staged/00001/x.chunks.parquet",
    ]
    assert list(index.glob("runs/*/report.json"))


def test_half_written_files_of_killed_writers_go(index: Path) -> None:
    shard = next(index.glob("shards/*/*"))
    (shard / ".tmp-0123").write_bytes(b"half a file")
    collect(index, keep=9)
    assert not (shard / ".tmp-0123").exists()


def test_nothing_is_deleted_when_a_kept_manifest_is_damaged(index: Path) -> None:
    manifest = sorted(index.glob("generations/*/manifest.json"))[2]
    manifest.write_bytes(b"{}")
    before = objects(index)
    with pytest.raises(ChecksumError, match="manifest.json"):
        collect(index, keep=2)
    assert objects(index) == before


def test_a_dry_run_says_what_would_go_and_changes_nothing(index: Path, capsys: Capture) -> None:
    before = {path: path.read_bytes() for path in index.rglob("*") if path.is_file()}
    keep = ["gc", str(index), "--keep", "1", "--set", "publish.reader_grace_s=0"]
    assert main([*keep, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kept"], told["retired"]) == ([4], [1, 2, 3])
    assert {path: path.read_bytes() for path in index.rglob("*") if path.is_file()} == before
    assert main(keep) == 0
    assert f"deleted: {len(told['keys'])} files" in capsys.readouterr().out
    assert not any((index / key).exists() for key in told["keys"])
    assert main(["gc", str(index), "--keep", "0"]) == 2


def test_garbage_is_not_collected_beside_a_run(index: Path, capsys: Capture) -> None:
    lease = acquire(LocalObjectStore(index), "run-7", 5.0, lambda _line: None)
    with kept_alive(lease, 1.0):
        assert main(["gc", str(index), "--keep", "1"]) == 4
    assert "run run-7 is at work" in capsys.readouterr().err
    assert len(list_generations(LocalObjectStore(index))) == 4
