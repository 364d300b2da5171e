"""The lease of an index, with real runs: one that lives, and one that was killed."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scp_ray.config import Settings
from scp_ray.errors import LeaseHeldError, PreconditionFailedError
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus
from scp_ray.pipeline.verification import verify_index
from scp_ray.storage.lease import acquire
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.publish import read_state

Run = Callable[..., RunReport]

SLOW_RUN = textwrap.dedent(
    """
    import sys, time
    from scp_ray.config import load_settings
    from scp_ray.pipeline.executor import InProcessExecutor
    from scp_ray.pipeline.preparation import IndexRequest
    from scp_ray.pipeline.run import index_corpus

    corpus, index, stop_at = sys.argv[1:]
    settings = load_settings(None, [
        "embedding.model=hash://32", "index.num_shards=3", "chunking.chunk_size_tokens=60",
        "chunking.overlap_tokens=15", "index.build_threads=1", "publish.lease_s=1",
    ], {})

    def tell(line):
        print(line, flush=True)
        if stop_at in line:
            print("STOPPED", flush=True)
            time.sleep(600)

    index_corpus(IndexRequest(corpus, index, settings), InProcessExecutor(), tell)
    """
)


def start_and_stop(corpus: Path, index: Path, stop_at: str) -> subprocess.Popen[str]:
    """Start a run in a process of its own, and wait until it stands still at a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_RUN, str(corpus), str(index), stop_at],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "STOPPED":
            return process
    message = f"the run ended before {stop_at!r}"
    raise AssertionError(message)


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("stop_at", ["taking stock", "embedded 12/12", "built 2/3"])
def test_a_killed_run_is_taken_over_and_its_work_is_kept(
    run: Run, corpus: Path, tmp_path: Path, manifest: Callable[..., Manifest], stop_at: str
) -> None:
    run(index="undisturbed")
    process = start_and_stop(corpus, tmp_path / "index", stop_at)
    kill(process)
    report = run("publish.lease_s=1")
    assert report.published
    assert report.chunks["adopted"] == (0 if stop_at == "taking stock" else manifest().num_chunks)
    assert report.chunks["embedded"] == manifest().num_chunks - report.chunks["adopted"]
    assert manifest().shards == manifest("undisturbed").shards
    assert verify_index(LocalObjectStore(tmp_path / "index"), lambda _line: None) == []


def test_a_run_beside_one_that_lives_stops_at_once(run: Run, corpus: Path, tmp_path: Path) -> None:
    process = start_and_stop(corpus, tmp_path / "index", "embedded 12/12")
    try:
        with pytest.raises(LeaseHeldError, match="is at work on"):
            run("publish.lease_s=60")
    finally:
        kill(process)


def test_a_run_that_lost_its_lease_publishes_nothing(
    corpus: Path,
    tmp_path: Path,
    small_settings: Callable[..., Settings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The holder stands still, without a heartbeat; another takes over; then it goes on."""
    monkeypatch.setattr("scp_ray.storage.lease._BEATS_PER_LEASE", 1e-6)
    store = LocalObjectStore(tmp_path / "index")

    def tell(line: str) -> None:
        if line == "built 3/3 shards":
            acquire(store, "other", 0.2, lambda _line: None)

    request = IndexRequest(str(corpus), str(tmp_path / "index"), small_settings())
    with pytest.raises(PreconditionFailedError, match="changed by somebody else"):
        index_corpus(request, InProcessExecutor(), tell)
    state = read_state(store)
    assert (state.manifest, state.next_generation) == (None, 1)
    assert state.current is not None
    assert state.current.fence == 2


def test_runs_one_after_another_wait_for_nothing(run: Run) -> None:
    run()
    started = time.monotonic()
    assert not run().published
    assert time.monotonic() - started < 25.0
