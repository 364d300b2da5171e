"""How many questions one front answers at once, and how it takes no more."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from scp_ray.errors import ConfigError, NotReadyError, OverloadedError

_ENDING = "the service is stopping"


class Admission:
    """Counts the questions that are being answered and refuses those beyond the limit.

    For the tasks of one event loop: nothing is awaited between the look and the count.

    Attributes:
        limit: Most questions at once.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._in_flight = 0
        self._is_ending = False
        self._is_closed = False
        self._changed = asyncio.Event()

    @property
    def in_flight(self) -> int:
        """Questions that are being answered now."""
        return self._in_flight

    @contextmanager
    def hold(self, num_questions: int) -> Iterator[None]:
        """Keep places for questions, all or none, until the block ends, however it ends.

        Raises:
            ConfigError: If there are more questions than places: they would never fit.
            OverloadedError: If they do not fit now.
            NotReadyError: If no more are taken.
        """
        if self._is_closed:
            raise NotReadyError(_ENDING)
        if num_questions > self.limit:
            message = f"{num_questions} questions at once; at most {self.limit} are taken"
            raise ConfigError(message)
        if self._in_flight + num_questions > self.limit:
            message = (
                f"{self._in_flight} questions are being answered, {self.limit} at most; "
                f"no room for {num_questions} more"
            )
            raise OverloadedError(message)
        self._in_flight += num_questions
        try:
            yield
        finally:
            self._in_flight -= num_questions
            self._changed.set()

    def require_ready(self) -> None:
        """Look whether questions should come here.

        Raises:
            NotReadyError: If soon no more are taken.
        """
        if self._is_ending:
            raise NotReadyError(_ENDING)

    async def end(self, notice_s: float) -> None:
        """Be not ready, take no more questions after a while, and wait for those that are held.

        Args:
            notice_s: Seconds in which questions are still taken, so that who looks whether this
                front is ready can stop sending them before they are refused.
        """
        self._is_ending = True
        await asyncio.sleep(notice_s)
        self._is_closed = True
        while self._in_flight:
            self._changed.clear()
            await self._changed.wait()
