"""SIGTERM and SIGINT end a run in order: what is staged stays, and the next run goes on."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from scp_ray.errors import RunInterruptedError

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Whether a signal asked the run to stop.

    The error is raised where the main thread is, to end a long wait at once. Code of a library
    that happens to run there may swallow it, so ``check`` raises it again at the next step.
    """

    def __init__(self) -> None:
        self._message: str | None = None

    def ask(self, number: int) -> None:
        """Note the signal and raise."""
        name = signal.Signals(number).name
        self._message = f"stopped by {name}; run the same command again to go on from here"
        self.check()

    def check(self) -> None:
        """Raise if a signal came.

        Raises:
            RunInterruptedError: Then.
        """
        if self._message is not None:
            raise RunInterruptedError(self._message)


@contextmanager
def interruptible() -> Iterator[StopRequest]:
    """Turn the signals into RunInterruptedError, raised where the main thread is.

    Enter it after Ray has started, since Ray sets handlers of its own. A second signal has the
    effect that it had before, so that an impatient user can still end the process at once.
    """
    request = StopRequest()
    previous = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def interrupt(number: int, _frame: FrameType | None) -> None:
        restore()
        request.ask(number)

    for number in _SIGNALS:
        signal.signal(number, interrupt)
    try:
        yield request
    finally:
        restore()


@contextmanager
def shielded() -> Iterator[None]:
    """Ignore the signals for the moment of a commit: the run is over right after it.

    Handlers are swapped rather than signals masked: a mask is one thread's, and any other thread
    of the process would take the signal. In another thread than the main one there is nothing to
    do, since signals are raised in the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
