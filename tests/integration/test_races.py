"""Runs that race for one index: whatever the order of their steps, commits come one by one."""

import functools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scp_ray.config import Settings, load_settings
from scp_ray.errors import LeaseLostError, PreconditionFailedError
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.pipeline.verification import verify_index
from scp_ray.protocols import ObjectStore
from scp_ray.storage.garbage import Retention, collect_garbage
from scp_ray.storage.generations import roll_back
from scp_ray.storage.keys import CURRENT, GENERATIONS, SHARDS
from scp_ray.storage.lease import Clock, acquire, kept_alive
from scp_ray.storage.manifest import Manifest, ShardEntry, read_manifest
from scp_ray.storage.publish import Current, read_state, write_fence
from scp_ray.storage.s3 import S3ObjectStore
from scp_ray.testing import MemoryObjectStore
from scp_ray.testing.intercepted_store import InterceptedStore, StoreCall, StoreWatch

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

LEASE_S = 10.0
TEXTS = {
    "a.md": "Press the button and wait for the lamp. " * 20,
    "b.md": "Turn the valve and drain the pump. " * 20,
    "c.md": "Close the lid and hold the handle. " * 12,
}
BASE = ["embedding.model=hash://32", "index.num_shards=2", "index.build_threads=1"]
BASE += ["chunking.chunk_size_tokens=60", "chunking.overlap_tokens=15"]
BASE += ["publish.max_removed_fraction=1"]


@dataclass(frozen=True)
class Kind:
    """What one run is about: its corpus and its settings."""

    changes: dict[str, str | None] = field(default_factory=dict)
    assignments: tuple[str, ...] = ()

    def settings(self, lease_s: float) -> Settings:
        return load_settings(None, [*BASE, *self.assignments, f"publish.lease_s={lease_s:g}"], {})

    def corpus(self, path: Path) -> MemoryObjectStore:
        store = MemoryObjectStore()
        store.url = str(path)
        for name, text in (TEXTS | self.changes).items():
            if text is not None:
                store.write(name, text.encode())
        return store


KINDS = {
    "same": Kind(),
    "more": Kind({"d.md": "Rinse the filter. " * 30, "a.md": "Reset the timer. " * 40}),
    "less": Kind({"b.md": None, "a.md": "Replace the fuse. " * 20}),
    "windows": Kind(assignments=("chunking.chunk_size_tokens=40",)),
    "shards": Kind({"c.md": "Dry the blade. " * 25}, assignments=("index.num_shards=3",)),
}


class Actor:
    """A thread that goes on when it has its turn and what it waits for is so."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.go = threading.Semaphore(0)
        self.is_ready: Callable[[], bool] = lambda: True
        self.wakes_at = 0.0


class Turns:
    """Lets one thread at a time go on, drawn anew at every storage call; time is virtual.

    A run stands still now and then, its heartbeat too, often for longer than its lease.
    """

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self._rng = random.Random(seed)
        self._actors: list[Actor] = []
        self._local = threading.local()
        self._frozen: dict[str, float] = {}
        self._done = threading.Event()
        self._patience = self._rng.choice([0.0, 0.5, 0.9, 0.98])
        self._tick_s = LEASE_S * self._rng.choice([0.0001, 0.003, 0.03])
        self._pauses = self._rng.choice([0.0, 0.005, 0.02, 0.05])
        self.num_pauses = 0

    @property
    def run(self) -> str:
        """The run to which the calling thread belongs."""
        return self._local.actor.run

    def spawn(self, act: Callable[[], object], run: str) -> Actor:
        """Make a thread that begins when it gets its turn."""
        actor = Actor(run)
        self._actors.append(actor)

        def body() -> None:
            self._local.actor = actor
            actor.go.acquire()
            try:
                act()
            finally:
                self._actors.remove(actor)
                self._pass_on()

        threading.Thread(target=body, daemon=True).start()
        return actor

    def start_and_wait(self) -> None:
        """Give the first turn, and return when every thread has ended."""
        self._pass_on()
        assert self._done.wait(60), "the schedule does not end"

    def step(self) -> None:
        """Let somebody else go on, or oneself."""
        self.now += self._rng.uniform(0, 2 * self._tick_s)
        if self._rng.random() < self._pauses:
            self.num_pauses += 1
            self._frozen[self.run] = self.now + LEASE_S * self._rng.choice([0.3, 1.1, 1.5, 4.0])
        elif self._rng.random() < self._patience:
            return
        self._wait(self._local.actor)

    def wait(self, is_ready: Callable[[], bool], timeout_s: float = float("inf")) -> bool:
        """Let others go on until something is so, or the time has passed."""
        actor = self._local.actor
        actor.is_ready, actor.wakes_at = is_ready, self.now + timeout_s
        self._wait(actor)
        actor.is_ready = lambda: True
        return is_ready()

    def sleep(self, seconds: float) -> None:
        self.wait(lambda: False, seconds)

    def _wait(self, actor: Actor) -> None:
        following = self._drawn()
        if following is not actor:
            following.go.release()
            actor.go.acquire()

    def _pass_on(self) -> None:
        if self._actors:
            self._drawn().go.release()
        else:
            self._done.set()

    def _drawn(self) -> Actor:
        while True:
            able = [actor for actor in self._actors if self._earliest(actor) <= self.now]
            if able:
                return self._rng.choice(able)
            self.now = min(map(self._earliest, self._actors))

    def _earliest(self, actor: Actor) -> float:
        awake = self.now if actor.is_ready() else actor.wakes_at
        return max(awake, self._frozen.get(actor.run, 0.0))


class VirtualThreading:
    """What ``lease.py`` takes of ``threading``, under the rule of turns."""

    def __init__(self, turns: Turns) -> None:
        self.Lock = functools.partial(VirtualLock, turns)
        self.Event = functools.partial(VirtualEvent, turns)
        self.Thread = functools.partial(VirtualThread, turns)


class VirtualLock:
    """A lock for which others go on meanwhile."""

    def __init__(self, turns: Turns) -> None:
        self._turns, self._is_held = turns, False

    def __enter__(self) -> None:
        self._turns.wait(lambda: not self._is_held)
        self._is_held = True

    def __exit__(self, *_error: object) -> None:
        self._is_held = False


class VirtualEvent:
    """An event that is waited for in virtual time."""

    def __init__(self, turns: Turns) -> None:
        self._turns, self._is_set = turns, False

    def set(self) -> None:
        self._is_set = True

    def wait(self, timeout: float) -> bool:
        return self._turns.wait(lambda: self._is_set, timeout)


class VirtualThread:
    """A thread of the run that starts it."""

    def __init__(self, turns: Turns, target: Callable[[], None], **_names: object) -> None:
        self._turns, self._target, self._has_ended = turns, target, False

    def start(self) -> None:
        self._turns.spawn(self._body, self._turns.run)

    def join(self) -> None:
        self._turns.wait(lambda: self._has_ended)

    def _body(self) -> None:
        try:
            self._target()
        finally:
            self._has_ended = True


class Witness:
    """Looks at the index after every change and notes what must not be."""

    def __init__(self, store: ObjectStore, expected: dict[str, list[ShardEntry]]) -> None:
        self._store, self._expected = store, expected
        self.violations: list[str] = []
        self.commits: dict[int, str] = {1: "base"}
        self.retired: set[int] = set()
        self._current = self._read()
        self._manifests: dict[str, Manifest] = {}
        self._objects = {stored.key: stored.version for stored in store.list()}

    def look(self, call: StoreCall) -> None:
        """Look at what a call has changed."""
        if call.key == CURRENT:
            self._look_at_current()
        if call.key.startswith((SHARDS, GENERATIONS)) and call.operation != "delete":
            _, version = self._store.read_versioned(call.key)
            if self._objects.setdefault(call.key, version) != version:
                self.violations.append(f"{call.key} was changed")
        if call.key == CURRENT or call.operation == "delete":
            self.look_at_files()

    def look_at_files(self) -> None:
        """Note every file of a listed generation that is missing or damaged."""
        versions = {stored.key: stored.version for stored in self._store.list()}
        for entry in self._read().generations:
            manifest = self.manifest(entry.manifest, entry.manifest_sha256)
            for folder, files in manifest.folders.items():
                wrong = [
                    n for n, file in files.items() if versions.get(f"{folder}/{n}") != file.sha256
                ]
                if wrong:
                    self.violations.append(f"{entry.generation}: {folder} without {wrong}")

    def manifest(self, key: str, sha256: str) -> Manifest:
        """Return a manifest, read once."""
        if key not in self._manifests:
            self._manifests[key] = read_manifest(self._store, key, sha256)
        return self._manifests[key]

    def _read(self) -> Current:
        return Current.model_validate_json(self._store.read(CURRENT))

    def _look_at_current(self) -> None:
        before, now = self._current, self._read()
        self._current = now
        numbers = [[e.generation for e in state.generations] for state in (before, now)]
        if now.fence < before.fence:
            self.violations.append(f"fence {now.fence} after {before.fence}")
        if now.last_generation == before.last_generation:
            self.retired |= set(numbers[0]) - set(numbers[1])
            if not set(numbers[1]) <= set(numbers[0]):
                self.violations.append(f"{numbers[1]} after {numbers[0]}")
            return
        if (now.generation, numbers[1]) != (
            before.last_generation + 1,
            [*numbers[0], before.last_generation + 1],
        ):
            self.violations.append(f"{numbers[1]} after {numbers[0]}")
        self._look_at_commit(before, now)

    def _look_at_commit(self, before: Current, now: Current) -> None:
        manifest = self.manifest(now.generations[-1].manifest, now.generations[-1].manifest_sha256)
        self.commits[now.generation] = manifest.run_id
        if manifest.parent != before.generation:
            self.violations.append(f"{manifest.parent} is the parent after {before.generation}")
        if manifest.shards != self._expected[kind_of(manifest.run_id)]:
            self.violations.append(f"generation {now.generation} is not that of its run")


def kind_of(run_id: str) -> str:
    return run_id.rpartition("-")[2]


class Watch(StoreWatch):
    """Gives the turn before each call, and lets the witness look after it."""

    def __init__(self, turn: Callable[[StoreCall], object], witness: Witness) -> None:
        super().__init__()
        self.before = turn
        self._witness = witness

    def after(self, call: StoreCall) -> None:
        if call.is_writing:
            self._witness.look(call)


@dataclass
class Outcomes:
    """How everything that took part in a schedule ended."""

    generations: dict[str, int] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    errors: dict[str, BaseException] = field(default_factory=dict)

    def counts(self) -> Counter[str]:
        """Return how many ended in which way."""
        counts = Counter(type(error).__name__ for error in self.errors.values())
        counts["commits"] += len(self.generations)
        counts["nothing changed"] += len(self.unchanged)
        return counts


class Scene:
    """An index and a corpus at paths that are not there, opened differently by every run."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.index, self._corpus = root / "index", root / "corpus"
        self._corpus.mkdir()
        self._corpora = {name: kind.corpus(self._corpus) for name, kind in KINDS.items()}
        self._monkeypatch = monkeypatch
        self._run = threading.local()
        self.store: ObjectStore = MemoryObjectStore()
        monkeypatch.setattr("tempfile.tempdir", str(root))
        monkeypatch.setattr("scp_ray.storage.opening.LocalObjectStore", self._open)
        monkeypatch.setattr("scp_ray.pipeline.run._new_run_id", lambda: self._run.id)

    def _open(self, path: Path) -> ObjectStore:
        if path == self._corpus:
            return self._corpora[kind_of(self._run.id)]
        assert path == self.index
        return self.store

    @property
    def run_id(self) -> str:
        """The run of the calling thread."""
        return self._run.id

    def index_corpus(
        self, run_id: str, outcomes: Outcomes, index: str | None = None, lease_s: float = LEASE_S
    ) -> None:
        """Be one run and note how it ended."""
        self._run.id = run_id
        settings = KINDS[kind_of(run_id)].settings(lease_s)
        request = IndexRequest(str(self._corpus), index or str(self.index), settings)
        try:
            report = index_corpus(request, InProcessExecutor(1), lambda _line: None)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is looked at below
            outcomes.errors[run_id] = error
        else:
            if report.published:
                outcomes.generations[run_id] = report.generation
            else:
                outcomes.unchanged.append(run_id)


def copied(store: ObjectStore, copy: ObjectStore | None = None) -> ObjectStore:
    copy = copy or MemoryObjectStore()
    for stored in store.list():
        copy.write(stored.key, store.read(stored.key))
    return copy


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


@pytest.fixture
def base(scene: Scene) -> MemoryObjectStore:
    """An index with one generation."""
    store = MemoryObjectStore()
    store.url = str(scene.index)
    scene.store = store
    scene.index_corpus("base-same", Outcomes())
    return store


@pytest.fixture
def expected(scene: Scene, base: MemoryObjectStore) -> dict[str, list[ShardEntry]]:
    """The shards that a run of each kind publishes when it is alone."""
    shards: dict[str, list[ShardEntry]] = {}
    for kind in KINDS:
        scene.store = alone = copied(base)
        alone.url = str(scene.index)
        scene.index_corpus(f"run-{kind}", Outcomes())
        manifest = read_state(alone).manifest
        assert manifest is not None
        shards[kind] = manifest.shards
    assert len({str(entries) for entries in shards.values()}) == len(KINDS)
    return shards


class Race:
    """One schedule over the store in memory."""

    def __init__(
        self, scene: Scene, base: ObjectStore, expected: dict[str, list[ShardEntry]], seed: int
    ) -> None:
        self.rng = random.Random(seed)
        self.turns = Turns(seed)
        self.outcomes = Outcomes()
        self._scene = scene
        store = copied(base)
        store.url = str(scene.index)
        self.witness = Witness(store, expected)
        watch = Watch(lambda _call: self.turns.step(), self.witness)
        self.store = scene.store = InterceptedStore(store, watch)
        self.inner = store
        self._clock = Clock(lambda: self.turns.now, self.turns.sleep)

    def hold(self, monkeypatch: pytest.MonkeyPatch, *others: str, num_runs: int) -> None:
        """Let runs of random kinds, and others, go on in turns until all have ended."""
        monkeypatch.setattr("scp_ray.storage.lease.threading", VirtualThreading(self.turns))
        acquire_virtually = functools.partial(acquire, clock=self._clock)
        monkeypatch.setattr("scp_ray.pipeline.run.acquire", acquire_virtually)
        for number in range(num_runs):
            run_id = f"run{number}-{self.rng.choice(list(KINDS))}"
            begin = functools.partial(self._scene.index_corpus, run_id, self.outcomes)
            self.turns.spawn(functools.partial(self._later, begin), run_id)
        for name in others:
            act = functools.partial(self._maintain, name, getattr(self, f"_{name}"))
            self.turns.spawn(functools.partial(self._later, act), name)
        self.turns.start_and_wait()

    def _later(self, act: Callable[[], None]) -> None:
        self.turns.sleep(self.rng.choice([0.0, 0.0, self.rng.uniform(0, 3 * LEASE_S)]))
        act()

    def _maintain(self, name: str, act: Callable[[int], object]) -> None:
        try:
            lease = acquire(self.store, name, LEASE_S, lambda _line: None, self._clock)
            with kept_alive(lease, LEASE_S):
                act(lease.fence)
        except BaseException as error:  # noqa: BLE001 - as above
            self.outcomes.errors[name] = error

    def _rollback(self, fence: int) -> None:
        current = read_state(self.store).current
        assert current is not None
        roll_back(self.store, self.rng.choice(current.generations).generation, fence)

    def _gc(self, fence: int) -> None:
        collect_garbage(self.store, Retention(1, 0.0, 0.0), fence)


def faults(outcomes: Outcomes, witness: Witness, current: Current) -> list[str]:
    """Return what must not be so when everybody has ended."""
    found = list(witness.violations)
    found += [
        f"{run_id} ended with {error!r}"
        for run_id, error in outcomes.errors.items()
        if not isinstance(error, PreconditionFailedError)
    ]
    told = {1: "base"} | {number: run_id for run_id, number in outcomes.generations.items()}
    if witness.commits != told:
        found.append(f"committed were {witness.commits}, the runs say {told}")
    listed = {entry.generation for entry in current.generations}
    if listed != witness.commits.keys() - witness.retired:
        found.append(f"of {list(witness.commits)} there are {listed}")
    return found


CASES = {
    "two runs": (160, 2, ()),
    "four runs": (120, 4, ()),
    "two runs and a rollback": (90, 2, ("rollback",)),
    "two runs and gc": (90, 2, ("gc",)),
    "three runs, a rollback and gc": (60, 3, ("rollback", "gc")),
}


def tell(
    capsys: pytest.CaptureFixture[str], what: str, counts: Counter[str], started: float
) -> None:
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
    with capsys.disabled():
        print(f"\n{what} in {time.monotonic() - started:.1f} s: {told}")  # noqa: T201


@pytest.mark.parametrize("case", CASES)
def test_every_schedule_commits_one_by_one(
    case: str,
    scene: Scene,
    base: MemoryObjectStore,
    expected: dict[str, list[ShardEntry]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    num_schedules, num_runs, others = CASES[case]
    counts: Counter[str] = Counter()
    found: list[str] = []
    started = time.monotonic()
    for seed in range(num_schedules):
        race = Race(scene, base, expected, seed)
        race.hold(monkeypatch, *others, num_runs=num_runs)
        current = read_state(race.inner).current
        assert current is not None
        found += [f"seed {seed}: {fault}" for fault in faults(race.outcomes, race.witness, current)]
        if seed % 25 == 0:
            assert verify_index(race.inner, lambda _line: None) == []
        counts.update(race.outcomes.counts())
        counts["pauses"] += race.turns.num_pauses
    tell(capsys, f"{case}: {num_schedules} schedules", counts, started)
    assert found == []


def test_gc_that_was_replaced_deletes_nothing_more(base: MemoryObjectStore) -> None:
    class Replaced(StoreWatch):
        def after(self, call: StoreCall) -> None:
            if call.operation == "delete":
                write_fence(base, 99)

    orphans = [f"{SHARDS}00000/{name}" for name in ("first", "second", "third")]
    for key in orphans:
        base.write(key, b"of a run that died")
    with pytest.raises(LeaseLostError, match="took the index over"):
        collect_garbage(InterceptedStore(base, Replaced()), Retention(1, 0.0, 0.0), fence=5)
    left = [stored.key for stored in base.list(SHARDS) if stored.key in orphans]
    assert left == orphans[1:]


class Pauses(StoreWatch):
    """Lets the calls of one run take their time, and sometimes longer than its lease."""

    def __init__(self, rng: random.Random, lease_s: float) -> None:
        super().__init__()
        self._rng, self._lease_s = rng, lease_s
        self._resumes_at = 0.0

    def before(self, call: StoreCall) -> None:
        if self._rng.random() < 0.04:
            self._resumes_at = time.monotonic() + self._lease_s * self._rng.uniform(1.2, 2.0)
        time.sleep(max(self._resumes_at - time.monotonic(), self._rng.uniform(0.0, 0.004)))


def generations_on(store: ObjectStore, expected: dict[str, list[ShardEntry]]) -> dict[int, str]:
    """Return the run of every generation; each is over the one before it and that run's alone."""
    current = read_state(store).current
    assert current is not None
    runs: dict[int, str] = {}
    for entry in current.generations:
        manifest = read_manifest(store, entry.manifest, entry.manifest_sha256)
        assert manifest.shards == expected[kind_of(manifest.run_id)]
        assert manifest.parent == (entry.generation - 1 or None)
        runs[entry.generation] = manifest.run_id
    assert list(runs) == list(range(1, current.last_generation + 1))
    return runs


def test_runs_that_race_on_s3_commit_one_by_one(
    s3_address: str,
    scene: Scene,
    base: MemoryObjectStore,
    expected: dict[str, list[ShardEntry]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts: Counter[str] = Counter()
    started, lease_s = time.monotonic(), 0.6
    for seed in range(10):
        rng, outcomes = random.Random(seed), Outcomes()
        store = copied(base, S3ObjectStore(f"{s3_address}/{seed}"))
        ids = [f"run{number}-{rng.choice(list(KINDS))}" for number in range(2 + seed % 3)]
        watches = {run_id: Pauses(random.Random(f"{seed} {run_id}"), lease_s) for run_id in ids}

        class Paused(InterceptedStore):
            def __init__(self, address: str, watches: dict[str, Pauses] = watches) -> None:
                super().__init__(S3ObjectStore(address), watches[scene.run_id])

        monkeypatch.setattr("scp_ray.storage.opening.S3ObjectStore", Paused)
        threads = [
            threading.Thread(target=scene.index_corpus, args=(run_id, outcomes, store.url, lease_s))
            for run_id in ids
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        told = {1: "base-same"} | {number: run for run, number in outcomes.generations.items()}
        assert generations_on(store, expected) == told
        assert verify_index(store, lambda _line: None) == []
        assert all(isinstance(e, PreconditionFailedError) for e in outcomes.errors.values())
        counts.update(outcomes.counts())
    tell(capsys, "10 schedules on S3", counts, started)
