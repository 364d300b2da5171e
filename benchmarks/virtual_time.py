"""Time that passes only while nobody works, for event loops in several threads.

What a model takes seconds for is simulated without waiting, and what the code around it does costs
no time at all: a run's length is then decided by what was asked when, on however busy a machine.
"""

import asyncio
import selectors
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVarTuple

from typing_extensions import override

_NEVER = float("inf")
_Arguments = TypeVarTuple("_Arguments")


class VirtualClock(asyncio.DefaultEventLoopPolicy):
    """A clock, and the policy by which asyncio makes event loops that go by it.

    Time stands still while a loop has something to do, or a thread is inside ``working``. When
    none has, it jumps to the next moment that a loop waits for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.turn = threading.RLock()
        self._num_working = 0
        self._loops: list[VirtualLoop] = []

    @override
    def new_event_loop(self) -> "VirtualLoop":
        """Return a loop of this clock."""
        loop = VirtualLoop(self)
        with self.turn:
            self._loops.append(loop)
            self._num_working += 1
        return loop

    def begin(self) -> None:
        """Count someone who works."""
        with self.turn:
            self._num_working += 1

    def end(self) -> None:
        """Count one less; the last one lets time pass."""
        with self.turn:
            self._num_working -= 1
            if not self._num_working:
                self._pass()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Let no time pass meanwhile."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let time pass meanwhile, for who is inside ``working``."""
        self.end()
        try:
            yield
        finally:
            self.begin()

    def forget(self, loop: "VirtualLoop") -> None:
        """Take out a loop that was closed; its thread has ended."""
        with self.turn:
            if loop in self._loops:
                self._loops.remove(loop)
                self._num_working -= loop.is_awake

    def _pass(self) -> None:
        soonest = min((loop.wakes_at for loop in self._loops), default=_NEVER)
        if soonest == _NEVER:
            return
        self.now = max(self.now, soonest)
        for loop in self._loops:
            if loop.wakes_at <= self.now:
                loop.wake()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that goes by a virtual clock.

    Attributes:
        wakes_at: When it wants to go on, while it waits.
        is_awake: Whether it has something to do.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.wakes_at = _NEVER
        self.is_awake = True
        super().__init__(_Selector(self))

    @override
    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.clock.now

    @override
    def call_soon_threadsafe(
        self,
        callback: Callable[[*_Arguments], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Have the loop call something, and count it as awake from now on."""
        with self.clock.turn:
            self._count_awake()
            return super().call_soon_threadsafe(callback, *args, context=context)

    def wake(self) -> None:
        """Let it go on."""
        self.call_soon_threadsafe(_do_nothing)

    def sleep(self, timeout: float | None) -> None:
        """Be counted as waiting until ``timeout`` virtual seconds have passed, or called."""
        self.wakes_at = _NEVER if timeout is None else self.clock.now + timeout
        self.is_awake = False
        self.clock.end()

    @override
    def close(self) -> None:
        """Close it."""
        self.clock.forget(self)
        super().close()

    def _count_awake(self) -> None:
        if not self.is_awake:
            self.is_awake = True
            self.wakes_at = _NEVER
            self.clock.begin()


class _Selector(selectors.DefaultSelector):
    """Tells its loop when it has nothing to do; only calls from other threads end that."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    @override
    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        with self._loop.clock.turn:
            called = super().select(0)
            if called:
                return called
            self._loop.sleep(timeout)
        return super().select(None)


def _do_nothing() -> None:
    pass
