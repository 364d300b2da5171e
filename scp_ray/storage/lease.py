"""The lease of an index: one run at a time, also when nodes die and clocks disagree.

``lease.json`` names the holder, counts its heartbeats, and carries a fence, a number that grows
with every change of holder. A watcher compares no clocks: it takes the lease over when the
heartbeat has not changed for the lease time by its own monotonic clock. It then writes its fence
into ``CURRENT``, so that a commit of the old holder, which expects ``CURRENT`` as it was, fails.

Source: leases with fencing tokens, Gray and Cheriton (1989), Kleppmann, "How to do distributed
locking" (2016). Counting heartbeats instead of comparing time stamps is our choice.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scp_ray.errors import (
    IndexFormatError,
    LeaseHeldError,
    LeaseLostError,
    ObjectNotFoundError,
    PreconditionFailedError,
    ScpRayError,
    StorageError,
)
from scp_ray.protocols import ObjectStore
from scp_ray.storage.keys import LEASE
from scp_ray.storage.publish import read_fence, write_fence

_log = logging.getLogger(__name__)

_BEATS_PER_LEASE = 5
_LOOKS_PER_LEASE = 10


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as a lease sees it: seconds that only grow, and waiting for some to pass."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep


class LeaseRecord(BaseModel):
    """The content of ``lease.json``.

    Attributes:
        run_id: Who holds it; None = nobody.
        heartbeat: Grows while the holder lives.
        fence: Grows with every change of holder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str | None
    heartbeat: Annotated[int, Field(ge=0)] = 0
    fence: Annotated[int, Field(ge=1)]


class Lease:
    """A lease that this process holds; threads may share it.

    Attributes:
        run_id: The holder.
        fence: Its fencing token, larger than those of all holders before.
    """

    def __init__(self, store: ObjectStore, record: LeaseRecord, version: str) -> None:
        self.run_id = str(record.run_id)
        self.fence = record.fence
        self._store = store
        self._record = record
        self._version = version
        self._turn = threading.Lock()
        self._is_lost = False

    def beat(self) -> None:
        """Show that the holder lives.

        Raises:
            LeaseLostError: If somebody else took the lease.
        """
        with self._turn:
            following = self._record.model_copy(update={"heartbeat": self._record.heartbeat + 1})
            self._swap(following)

    def release(self) -> None:
        """Let the next one in at once."""
        with self._turn:
            self._swap(self._record.model_copy(update={"run_id": None}))

    def check(self) -> None:
        """Stop a run that has lost the lease.

        Raises:
            LeaseLostError: If a heartbeat found that somebody else took it.
        """
        if self._is_lost:
            message = (
                f"run {self.run_id} lost the lease of {self._store.url} to another run, which "
                "goes on from what this one staged; nothing was published"
            )
            raise LeaseLostError(message)

    def _swap(self, record: LeaseRecord) -> None:
        try:
            self._version = _write(self._store, record, self._version)
        except PreconditionFailedError:
            self._is_lost = True
            self.check()
        self._record = record


def acquire(
    store: ObjectStore,
    run_id: str,
    lease_s: float,
    tell: Callable[[str], None],
    clock: Clock = Clock(),
) -> Lease:
    """Take the lease, at once if it is free, else when its holder shows no life for ``lease_s``.

    Args:
        store: The index.
        run_id: Who wants it.
        lease_s: Seconds without a heartbeat after which a holder counts as dead.
        tell: Told a line when there is something to wait for.
        clock: For tests.

    Raises:
        LeaseHeldError: If the holder lives.
        IndexFormatError: If ``lease.json`` is malformed.
    """
    while True:
        found = _read(store)
        if found is None or found[0].run_id is None:
            fence = found[0].fence if found else read_fence(store)
            lease = _taken(store, run_id, fence + 1, found[1] if found else None)
            if lease is not None:
                return lease
            continue
        record, version = found
        tell(f"run {record.run_id} holds the lease; waiting {lease_s:g} s for a sign of life")
        if _shows_no_life(store, version, lease_s, clock):
            lease = _taken(store, run_id, record.fence + 1, version)
            if lease is not None:
                tell(f"run {record.run_id} is dead; its lease is taken over")
                write_fence(store, lease.fence)
                return lease


def _shows_no_life(store: ObjectStore, version: str, lease_s: float, clock: Clock) -> bool:
    """Watch a held lease; False when it was released meanwhile."""
    ends = clock.now() + lease_s
    while clock.now() < ends:
        clock.sleep(lease_s / _LOOKS_PER_LEASE)
        found = _read(store)
        if found is None or found[0].run_id is None:
            return False
        if found[1] != version:
            message = (
                f"run {found[0].run_id} is at work on {store.url}; run this again when it has ended"
            )
            raise LeaseHeldError(message)
    return True


@contextmanager
def kept_alive(lease: Lease, lease_s: float) -> Iterator[None]:
    """Send heartbeats while the block runs, and release the lease after it.

    A heartbeat that the store fails is tried again at the next turn: should the store stay away for
    longer than the lease, another run may take over, and ``Lease.check`` says so.

    Raises:
        LeaseLostError: In place of what the block misses in the store, if another run took over:
            it has then taken in and removed what this one staged.
    """
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(lease_s / _BEATS_PER_LEASE):
            try:
                lease.beat()
            except LeaseLostError:
                return
            except StorageError as error:
                _log.warning("the lease cannot be renewed: %s", error)

    thread = threading.Thread(target=beat, name="scp-ray-lease", daemon=True)
    thread.start()
    try:
        yield
    except PreconditionFailedError:
        raise
    except (StorageError, IndexFormatError) as error:
        _blame_takeover(lease, error)
        raise
    finally:
        ended.set()
        thread.join()
        try:
            lease.release()
        except StorageError as error:  # must not take the place of what ended the block
            _log.warning("the lease was not released: %s", error)


def _blame_takeover(lease: Lease, error: ScpRayError) -> None:
    try:
        lease.beat()
    except LeaseLostError as lost:
        raise lost from error
    except StorageError:
        return


def _taken(store: ObjectStore, run_id: str, fence: int, expected: str | None) -> Lease | None:
    """Try to become the holder; None if somebody was faster."""
    record = LeaseRecord(run_id=run_id, fence=fence)
    try:
        return Lease(store, record, _write(store, record, expected))
    except PreconditionFailedError:
        return None


def _read(store: ObjectStore) -> tuple[LeaseRecord, str] | None:
    try:
        data, version = store.read_versioned(LEASE)
        return LeaseRecord.model_validate_json(data), version
    except ObjectNotFoundError:
        return None
    except ValidationError as error:
        message = f"{store.url}/{LEASE}: malformed; delete it if no run is going on"
        raise IndexFormatError(message) from error


def _write(store: ObjectStore, record: LeaseRecord, expected: str | None) -> str:
    data = record.model_dump_json(indent=1) + "\n"
    return store.compare_and_swap(LEASE, data.encode(), expected=expected)
