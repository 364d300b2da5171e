"""One run at a time, by heartbeats and fences."""

import threading
from collections.abc import Callable

import pytest

from scp_ray.errors import (
    ChecksumError,
    IndexFormatError,
    LeaseHeldError,
    LeaseLostError,
    PreconditionFailedError,
    StorageError,
)
from scp_ray.storage.keys import LEASE
from scp_ray.storage.lease import Clock, Lease, acquire, kept_alive
from scp_ray.storage.publish import (
    read_fence,
    read_state,
    require_fence,
    swap_current,
    write_fence,
)
from scp_ray.testing import MemoryObjectStore

LEASE_S = 10.0


class Scene:
    """A clock that moves when somebody sleeps, and what happens meanwhile."""

    def __init__(self, on_sleep: Callable[[], object] = lambda: None) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.clock = Clock(now=lambda: self.now, sleep=self._sleep)
        self._on_sleep = on_sleep

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self._on_sleep()

    def acquire(self, store: MemoryObjectStore, run_id: str) -> Lease:
        return acquire(store, run_id, LEASE_S, self.lines.append, self.clock)


@pytest.fixture
def store() -> MemoryObjectStore:
    return MemoryObjectStore()


def test_a_free_lease_is_taken_at_once(store: MemoryObjectStore) -> None:
    scene = Scene()
    first = scene.acquire(store, "first")
    assert (first.run_id, first.fence, scene.now) == ("first", 1, 0.0)
    first.release()
    second = scene.acquire(store, "second")
    assert (second.fence, scene.now, scene.lines) == (2, 0.0, [])


def test_a_holder_that_lives_is_left_alone(store: MemoryObjectStore) -> None:
    holder = Scene().acquire(store, "holder")
    scene = Scene(on_sleep=holder.beat)
    with pytest.raises(LeaseHeldError, match="run holder is at work"):
        scene.acquire(store, "other")
    holder.check()
    assert scene.now < LEASE_S


def test_a_dead_holder_is_replaced_after_the_lease_time(store: MemoryObjectStore) -> None:
    dead = Scene().acquire(store, "dead")
    scene = Scene()
    lease = scene.acquire(store, "next")
    assert scene.now >= LEASE_S
    assert lease.fence == dead.fence + 1
    assert any("run dead is dead" in line for line in scene.lines)
    with pytest.raises(LeaseLostError, match="run dead lost the lease"):
        dead.beat()
    with pytest.raises(LeaseLostError, match="nothing was published"):
        dead.check()
    lease.beat()


def test_a_lease_that_is_released_meanwhile_is_taken(store: MemoryObjectStore) -> None:
    holder = Scene().acquire(store, "holder")
    scene = Scene(on_sleep=lambda: holder.release() if store_holder(store) == "holder" else None)
    assert scene.acquire(store, "next").fence == 2
    assert scene.now < LEASE_S


def store_holder(store: MemoryObjectStore) -> str:
    return "holder" if b'"holder"' in store.read(LEASE) else "somebody else"


def test_a_takeover_raises_the_fence_in_current(store: MemoryObjectStore) -> None:
    Scene().acquire(store, "dead")
    before = read_state(store)
    assert before.version is None
    Scene().acquire(store, "next")
    after = read_state(store)
    assert after.version is not None
    assert after.current is not None
    assert (after.current.fence, after.current.generation, after.manifest) == (2, 0, None)
    assert after.next_generation == 1


def test_an_earlier_holder_cannot_lower_the_fence(store: MemoryObjectStore) -> None:
    write_fence(store, 5)
    with pytest.raises(LeaseLostError, match="took the index over"):
        write_fence(store, 4)
    assert read_fence(store) == 5


def test_an_earlier_holder_swaps_nothing_even_if_it_read_the_newer_fence(
    store: MemoryObjectStore,
) -> None:
    write_fence(store, 5)
    state = read_state(store)
    assert state.current is not None
    with pytest.raises(LeaseLostError, match="took the index over"):
        swap_current(store, state.current.model_copy(update={"fence": 4}), state.version)
    with pytest.raises(LeaseLostError, match="took the index over"):
        require_fence(store, 4)
    require_fence(store, 5)
    assert read_state(store) == state


@pytest.mark.parametrize("error", [ChecksumError("part: missing"), StorageError("no part")])
def test_what_the_next_holder_took_away_is_told_as_a_lost_lease(
    store: MemoryObjectStore, error: Exception
) -> None:
    lease = acquire(store, "old", 60.0, lambda _line: None)
    with pytest.raises(LeaseLostError, match="run old lost the lease") as told:  # noqa: SIM117
        with kept_alive(lease, 60.0):
            Scene().acquire(store, "next")
            raise error
    assert told.value.__cause__ is error


def test_an_error_of_a_holder_stays_what_it_is(store: MemoryObjectStore) -> None:
    lease = acquire(store, "holder", 60.0, lambda _line: None)
    with pytest.raises(ChecksumError, match="part: missing"), kept_alive(lease, 60.0):
        message = "part: missing"
        raise ChecksumError(message)
    assert acquire(store, "next", 60.0, lambda _line: None).fence == 2


def test_a_lost_lease_file_does_not_reuse_fences(store: MemoryObjectStore) -> None:
    write_fence(store, 7)
    assert Scene().acquire(store, "run").fence == 8


def test_a_malformed_lease_is_named(store: MemoryObjectStore) -> None:
    store.write(LEASE, b"{}")
    with pytest.raises(IndexFormatError, match="lease.json: malformed; delete it"):
        Scene().acquire(store, "run")


def test_heartbeats_keep_a_lease_while_its_block_runs(store: MemoryObjectStore) -> None:
    lease = acquire(store, "holder", 0.2, lambda _line: None)
    with kept_alive(lease, 0.2):
        for _ in range(3):
            with pytest.raises(LeaseHeldError):
                acquire(store, "other", 1.0, lambda _line: None)
    lease.check()
    assert acquire(store, "other", 60.0, lambda _line: None).fence == 2


class FailingStore(MemoryObjectStore):
    """Fails every heartbeat, as a store that is away does."""

    def compare_and_swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        if key == LEASE and b'"heartbeat": 0' not in data:
            message = "another state"
            raise PreconditionFailedError(message)
        return super().compare_and_swap(key, data, expected=expected)


def test_a_lost_lease_is_known_without_asking_the_store() -> None:
    store = FailingStore()
    lease = acquire(store, "holder", 0.05, lambda _line: None)
    done = threading.Event()
    with kept_alive(lease, 0.05):
        done.wait(0.3)
        with pytest.raises(LeaseLostError):
            lease.check()


@pytest.mark.parametrize("num_runs", [2, 4])
def test_of_many_at_once_one_gets_the_lease(num_runs: int) -> None:
    for _ in range(4):
        store = MemoryObjectStore()
        start = threading.Barrier(num_runs)
        held: list[Lease] = []
        refused: list[str] = []

        def enter(
            run_id: str,
            store: MemoryObjectStore = store,
            start: threading.Barrier = start,
            held: list[Lease] = held,
            refused: list[str] = refused,
        ) -> None:
            start.wait()
            try:
                lease = acquire(store, run_id, 1.0, lambda _line: None)
            except LeaseHeldError:
                refused.append(run_id)
                return
            with kept_alive(lease, 1.0):
                held.append(lease)
                threading.Event().wait(0.8)
                lease.check()

        threads = [threading.Thread(target=enter, args=(f"run-{n}",)) for n in range(num_runs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(held) == 1
        assert len(refused) == num_runs - 1
