"""Gathers what different requests want at the same moment into one call."""

import asyncio
import reprlib
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from scp_ray.errors import ShardUnavailableError

Q = TypeVar("Q")
A = TypeVar("A")


class Gatherer(Generic[Q, A]):
    """Sends what waits in one call as soon as one may go; adds no delay of its own.

    Nothing waits while fewer than ``max_calls`` calls are under way, so a lone request goes alone
    and the size of a call follows the load. A call that nobody waits for any more is cancelled.
    All of it belongs to one event loop.

    Args:
        call: Answers items, in their order; an exception in place of an answer is that item's
            alone.
        max_calls: Most calls under way.
        max_size: Most items of a call.
    """

    def __init__(
        self,
        call: Callable[[list[Q]], Awaitable[Sequence[A | BaseException]]],
        *,
        max_calls: int,
        max_size: int,
    ) -> None:
        self._call = call
        self._max_calls = max_calls
        self._max_size = max_size
        self._waiting: dict[asyncio.Future[A], Q] = {}  # in the order in which they came
        self._senders: set[asyncio.Task[Any] | None] = set()

    @property
    def num_waiting(self) -> int:
        """Items that no call has taken yet."""
        return len(self._waiting)

    async def ask(self, item: Q) -> A:
        """Return the answer to one item; cancelling withdraws it.

        Raises:
            Exception: What ``call`` raised, or gave in place of the answer.
        """
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting[answer] = item
        if len(self._senders) < self._max_calls:
            self._senders.add(asyncio.create_task(self._send()))
        try:
            return await answer
        finally:
            self._waiting.pop(answer, None)

    async def _send(self) -> None:
        try:
            while self._waiting:
                first = list(islice(self._waiting, self._max_size))
                taken = {answer: self._waiting.pop(answer) for answer in first}
                await self._answer(taken)
        finally:  # in the same step as the last look at what waits, so that no item is missed
            self._senders.discard(asyncio.current_task())

    async def _answer(self, taken: "dict[asyncio.Future[A], Q]") -> None:
        calling = asyncio.ensure_future(self._call(list(taken.values())))
        num_left = len(taken)

        def leave(_answer: "asyncio.Future[A]") -> None:
            nonlocal num_left
            num_left -= 1
            if num_left == 0:
                calling.cancel()

        for answer in taken:
            answer.add_done_callback(leave)
        await asyncio.wait({calling})
        for answer, given in zip(taken, _outcome(calling, len(taken)), strict=True):
            _settle(answer, given)


def _outcome(
    calling: "asyncio.Future[Sequence[A | BaseException]]", number: int
) -> Sequence[A | BaseException]:
    error = asyncio.CancelledError() if calling.cancelled() else calling.exception()
    if error is not None:
        return [error] * number
    answers: Any = calling.result()
    if not isinstance(answers, Sequence) or len(answers) != number:
        message = f"{number} questions got {reprlib.repr(answers)} for an answer"
        return [ShardUnavailableError(message)] * number
    return answers


def _settle(answer: "asyncio.Future[A]", given: A | BaseException) -> None:
    if answer.done():
        return
    if isinstance(given, BaseException):
        answer.set_exception(_raisable(given))
    else:
        answer.set_result(given)


def _raisable(error: BaseException) -> Exception:
    """Return an error that ends nothing but its question: no cancellation, no end of a loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return ShardUnavailableError(f"the call ended with {type(error).__name__}")
