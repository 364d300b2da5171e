"""A run that is killed at any of its storage calls: nobody notices, and the next one finishes it.

Nothing of a run lasts but what it wrote. So to be killed before a call is to be killed after the
one before it, and to be killed at a call that reads is to be killed before the next that writes:
all of these are tried, and some of the others. A call that writes can also be cut off in the
middle.
"""

import io
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scp_ray import schema
from scp_ray.config import Settings, load_settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus
from scp_ray.pipeline.verification import verify_index
from scp_ray.protocols import ObjectStore
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.keys import RUNS
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

ASSIGNMENTS = ["embedding.model=hash://32", "index.num_shards=4", "index.build_threads=1"]
ASSIGNMENTS += ["chunking.chunk_size_tokens=60", "chunking.overlap_tokens=15"]
PARTED = ("write", "upload", "compare_and_swap")  # what these write can be cut off in the middle
BEFORE_CHANGES = [("before", operation) for operation in (*PARTED, "delete")]
DOCUMENTS_SUFFIX = ".documents.parquet"

RUN = textwrap.dedent(
    """
    import json, os, signal, sys
    from functools import partial
    import faiss, pandas, pyarrow.dataset
    import scp_ray.embedding.hash_encoder
    import scp_ray.storage.local, scp_ray.storage.opening, scp_ray.storage.s3
    from scp_ray.config import load_settings
    from scp_ray.pipeline.executor import InProcessExecutor
    from scp_ray.pipeline.preparation import IndexRequest
    from scp_ray.pipeline.run import index_corpus
    from scp_ray.storage.local import LocalObjectStore
    from scp_ray.storage.s3 import S3ObjectStore
    from scp_ray.testing.intercepted_store import InterceptedStore, StoreWatch

    def die(*_ignored):
        os.kill(os.getpid(), signal.SIGKILL)

    def send_half(send, connection, data):
        data = data if isinstance(data, bytes) else data.read()
        head, _, body = data.partition(b"\\r\\n\\r\\n")
        if head.startswith((b"GET", b"PUT")) and not body:
            return send(connection, data)
        send(connection, data[: len(data) - len(body or data) // 2])
        die()

    def cut_off(at):
        import botocore.awsrequest
        if at == "during":
            os.fsync = die  # all is written, and not renamed yet
            connection = botocore.awsrequest.AWSConnection
            send = connection.send
            connection.send = lambda self, data: send_half(send, self, data)
        else:
            botocore.awsrequest.AWSHTTPConnection.getresponse = die

    class Killer(StoreWatch):
        def __init__(self, number, at):
            super().__init__()
            self.calls, self._number, self._at = [], number, at

        def before(self, call):
            self.calls.append([call.operation, call.key])
            if call.number == self._number:
                die() if self._at == "before" else cut_off(self._at)

    def watched(make, watch):
        class Watched(InterceptedStore):
            def __init__(self, address):
                super().__init__(make(address), watch)
        return Watched

    def run(corpus, index, assignments, number, at):
        watch = Killer(number, at)
        opening = scp_ray.storage.opening
        opening.LocalObjectStore = watched(LocalObjectStore, watch)
        opening.S3ObjectStore = watched(S3ObjectStore, watch)
        request = IndexRequest(corpus, index, load_settings(None, assignments, {}))
        index_corpus(request, InProcessExecutor(1), lambda line: None)
        return watch.calls
    """
)
FORKED = textwrap.dedent(
    """
    if "AWS_ENDPOINT_URL" in os.environ:
        scp_ray.storage.s3._make_client()  # reads what all clients need
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                sys.stdout.write(json.dumps(run(*json.loads(line))) + " ")
                sys.stdout.flush()
            finally:
                os._exit(0)
        print(os.waitpid(child, 0)[1], flush=True)
    """
)


@dataclass(frozen=True)
class Point:
    """Where a run is killed.

    Attributes:
        number: Number of the storage call.
        at: ``before`` it, ``during`` its writing, or ``unanswered``: when the answer is due.
        call: What it does, and to which key.
    """

    number: int
    at: str
    call: tuple[str, str]


class Runs:
    """Runs in processes that are forked from one which has all of scp_ray loaded."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def calls(self, corpus: Path, index: str) -> list[tuple[str, str]]:
        """Let a run go to its end and return its storage calls."""
        calls, _, status = self._do(corpus, index, 0, "before").rpartition(" ")
        assert int(status) == 0
        return [(operation, key) for operation, key in json.loads(calls)]

    def kill(self, corpus: Path, index: str, point: Point) -> None:
        """Let a run go as far as a point."""
        assert self._do(corpus, index, point.number, point.at) == str(int(signal.SIGKILL)), point

    def _do(self, corpus: Path, index: str, number: int, at: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = [str(corpus), index, [*ASSIGNMENTS, "publish.lease_s=60"], number, at]
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@pytest.fixture
def runs() -> Iterator[Runs]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN + FORKED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # a fork has no threads of a pool
    )
    try:
        yield Runs(process)
    finally:
        process.communicate(timeout=30)


RAY_RUNS = textwrap.dedent(
    """
    from dataclasses import replace
    import ray
    from scp_ray.pipeline.ray_executor import RayExecutor, connect

    def watched_stage(make, number, marker):
        if not os.path.exists(marker):
            class Once(Killer):
                def before(self, call):
                    if call.number == number:
                        open(marker, "a").close()
                    super().before(call)
            opening = scp_ray.storage.opening
            opening.LocalObjectStore = watched(LocalObjectStore, Once(number, "before"))
        return make()

    class WatchedExecutor(RayExecutor):
        def __init__(self, settings, name, number, marker):
            super().__init__(settings)
            self._watched = name, number, marker

        def run(self, rows, stages):
            name, number, marker = self._watched
            make = lambda spec: partial(watched_stage, spec.make, number, marker)
            specs = [replace(s, make=make(s)) if s.name == name else s for s in stages]
            yield from super().run(rows, specs)

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    connect()
    for line in sys.stdin:
        corpus, index, assignments, name, number, marker = json.loads(line)
        settings = load_settings(None, assignments, {})
        opening = scp_ray.storage.opening
        if name == "driver":
            opening.LocalObjectStore = watched(LocalObjectStore, Killer(number, "before"))
            executor = RayExecutor(settings)
        else:
            opening.LocalObjectStore = LocalObjectStore
            executor = WatchedExecutor(settings, name, number, marker)
        index_corpus(IndexRequest(corpus, index, settings), executor, lambda line: None)
        print("done", flush=True)
    """
)


def settings(lease_s: float) -> Settings:
    return load_settings(None, [*ASSIGNMENTS, f"publish.lease_s={lease_s:g}"], {})


def write_document(corpus: Path, number: int, words: str) -> None:
    text = f"# Orbis K-{number} Kettle\n\n" + f"{words} {number} and wait for the lamp. " * 25
    (corpus / f"manual_{number}.md").write_text(text)


@pytest.fixture
def old_corpus(corpus_folder: Path) -> Path:
    for number in range(8):
        write_document(corpus_folder, number, "Press button")
    return corpus_folder


def change(corpus: Path) -> None:
    """Change two documents, add four and remove one; every shard has some of it."""
    for number in (1, 5, 20, 21, 22, 23):
        write_document(corpus, number, "Turn valve")
    (corpus / "manual_3.md").unlink()


@dataclass(frozen=True)
class Faultless:
    """What is right: the old generation, the new one, and what a run over the old one does."""

    old: Manifest
    new: Manifest
    calls: list[tuple[str, str]]
    embedded: int


Copy = Callable[[], str]


@pytest.fixture
def first(old_corpus: Path, tmp_path: Path) -> LocalObjectStore:
    """An index with one generation, of a corpus that has changed since."""
    store = LocalObjectStore(tmp_path / "first")
    request = IndexRequest(str(old_corpus), store.url, settings(60))
    index_corpus(request, InProcessExecutor(1), lambda _line: None)
    change(old_corpus)
    return store


@pytest.fixture
def copy_folder(first: LocalObjectStore, tmp_path: Path) -> Copy:
    """Copies of that index in folders."""
    numbers = itertools.count()
    return lambda: str(shutil.copytree(first.url, tmp_path / f"index-{next(numbers)}"))


class Matrix:
    """Looks at what killed runs leave, and at the run after them."""

    def __init__(self, runs: Runs, corpus: Path, copy: Copy, lease_s: float) -> None:
        self._runs, self._corpus, self._copy = runs, corpus, copy
        self._settings = settings(lease_s)
        self.faultless = self._undisturbed()

    def _undisturbed(self) -> Faultless:
        index = self._copy()
        old = load_current(open_store(index))
        calls = self._runs.calls(self._corpus, index)
        new = load_current(open_store(index))
        assert (old.generation, new.generation) == (1, 2)
        assert not {str(shard) for shard in old.shards} & {str(shard) for shard in new.shards}
        report = self._next_run(self._copy())
        assert (report.shards["built"], report.chunks["adopted"]) == (4, 0)
        return Faultless(old, new, calls, report.chunks["embedded"])

    def survive(self, point: Point) -> None:
        """Kill a run, look as a reader does, and run again."""
        index = self._copy()
        self._runs.kill(self._corpus, index, point)
        if point.at == "unanswered":
            time.sleep(0.1)  # the server has the request and goes on with it
        staged, report = self.finish(index)
        todo = self.faultless.embedded if report.published else 0
        adopted = staged if report.published else 0
        done = (report.chunks["adopted"], report.chunks["embedded"])
        assert done == (adopted, todo - adopted), point

    def finish(self, index: str) -> tuple[int, RunReport]:
        """Look as a reader does, and run again; returns the chunks that were staged before."""
        store = open_store(index)
        found = load_current(store)
        assert found.shards in (self.faultless.old.shards, self.faultless.new.shards)
        self.read(index, found)
        staged = staged_chunks(store)
        report = self._next_run(index)
        assert report.published == (found.generation == 1)
        self.read(index, self.faultless.new)
        return staged, report

    def read(self, index: str, expected: Manifest) -> None:
        """Look at an index as a reader does."""
        manifest = load_current(open_store(index))
        assert (manifest.generation, manifest.shards) == (expected.generation, expected.shards)
        assert verify_index(open_store(index), lambda _line: None) == []
        searcher = LocalSearcher.open(index, self._settings)
        reply = searcher.answer(QueryRequest(query="Turn valve 20", top_k=3))
        assert reply.generation == manifest.generation
        assert reply.coverage.documents == manifest.num_documents
        assert len(reply.results) == 3

    def _next_run(self, index: str) -> RunReport:
        request = IndexRequest(str(self._corpus), index, self._settings)
        return index_corpus(request, InProcessExecutor(1), lambda _line: None)


def staged_chunks(store: ObjectStore) -> int:
    """Return how many chunks lie in parts that are whole."""
    keys = [stored.key for stored in store.list(RUNS)]
    tables = [
        pq.read_table(io.BytesIO(store.read(key))) for key in keys if key.endswith(DOCUMENTS_SUFFIX)
    ]
    return sum(sum(table[schema.NUM_CHUNKS].to_pylist()) for table in tables)


def points(calls: list[tuple[str, str]], *parts: str) -> list[Point]:
    """Return a point before every call, and those in the middle of every call that writes."""
    return [
        Point(number, at, call)
        for number, call in enumerate(calls, 1)
        for at in ("before", *(parts if call[0] in PARTED else ()))
    ]


def kind(point: Point) -> tuple[str, str, str]:
    """What makes two points alike: when, which call, and on which sort of object."""
    return point.at, point.call[0], point.call[1].partition("/")[0]


def tell(
    capsys: pytest.CaptureFixture[str], where: str, tried: list[Point], started: float
) -> None:
    kinds, seconds = len({kind(point) for point in tried}), time.monotonic() - started
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{where}: {len(tried)} points of {kinds} kinds survived in {seconds:.1f} s"
        )


def test_a_run_on_a_folder_survives_being_killed_at_every_call(
    runs: Runs, old_corpus: Path, copy_folder: Copy, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    matrix = Matrix(runs, old_corpus, copy_folder, lease_s=0.05)
    every = points(matrix.faultless.calls, "during")
    tried = [point for point in every if (point.at, point.call[0]) in BEFORE_CHANGES]
    tried += random.Random(4).sample([point for point in every if point not in tried], 20)
    for point in tried:
        matrix.survive(point)
    assert len(tried) >= 40
    tell(capsys, "a folder", tried, started)


@pytest.fixture
def copy_to_s3(
    s3_address: str, first: LocalObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Copy:
    """Copies of that index in a bucket; what is fetched from them has a cache of its own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    numbers = itertools.count()

    def copy() -> str:
        store = open_store(f"{s3_address}/index-{next(numbers)}")
        for stored in first.list():
            store.write(stored.key, first.read(stored.key))
        return store.url

    return copy


def test_a_run_on_s3_survives_being_killed_at_every_kind_of_call(
    copy_to_s3: Copy, runs: Runs, old_corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    matrix = Matrix(runs, old_corpus, copy_to_s3, lease_s=0.3)
    every = points(matrix.faultless.calls, "during", "unanswered")
    random.Random(4).shuffle(every)
    requests = [p for p in every if p.call[0] != "local_path" and "manual" not in p.call[1]]
    tried = list({kind(point): point for point in requests}.values())
    for point in tried:
        matrix.survive(point)
    tell(capsys, "S3", tried, started)


def start_on_ray() -> subprocess.Popen[str]:
    """Start a process that does what it is told on a Ray cluster of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", RUN + RAY_RUNS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"},
    )


def order(process: subprocess.Popen[str], *values: object) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(values) + "\n")
    process.stdin.flush()


def test_a_run_on_ray_survives_its_driver_and_its_workers(
    runs: Runs,
    old_corpus: Path,
    copy_folder: Copy,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    started, rng = time.monotonic(), random.Random(4)
    matrix = Matrix(runs, old_corpus, copy_folder, lease_s=0.2)
    assignments = [*ASSIGNMENTS, "publish.lease_s=60", "cluster.documents_per_batch=1"]
    for number in rng.sample(range(2, 40), 3):
        index = copy_folder()
        with start_on_ray() as process:
            order(process, str(old_corpus), index, assignments, "driver", number, "")
            assert process.wait(300) == -signal.SIGKILL
        staged, report = matrix.finish(index)
        if report.published:  # a worker may stage for a moment after its driver
            assert report.chunks["adopted"] >= staged
            done = report.chunks["adopted"] + report.chunks["embedded"]
            assert done == matrix.faultless.embedded
    with start_on_ray() as process:
        assert process.stdout is not None
        for stage, number in (("embed", rng.randint(1, 8)), ("build", rng.randint(1, 30))):
            index, marker = copy_folder(), tmp_path / stage
            order(process, str(old_corpus), index, assignments, stage, number, str(marker))
            assert "done\n" in iter(process.stdout.readline, "")
            assert marker.exists()
            matrix.read(index, matrix.faultless.new)
        process.communicate(timeout=60)
    with capsys.disabled():
        print(  # noqa: T201
            f"\nRay: 3 drivers and 2 workers survived in {time.monotonic() - started:.1f} s"
        )
