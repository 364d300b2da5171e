"""Every item gets its own answer, once, and nothing waits where a call may go."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.errors import ShardUnavailableError
from scp_ray.serve.gathering import Gatherer

FATES = st.sampled_from(["answer", "answer", "answer", "raise", "few", "many", "none", "cancelled"])


class Item:
    """A question that can be compared with no other one, as one that holds arrays cannot."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.vector = np.zeros(3)

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    def __hash__(self) -> int:
        raise AssertionError


class Far:
    """What is called: takes its time, and ends each call as its fate says."""

    def __init__(self, fates: Sequence[str], seed: int, max_calls: int) -> None:
        self.num_running = 0
        self.sizes: list[int] = []
        self.seen: list[int] = []
        self.max_calls = max_calls
        self._fates = [*fates]
        self._rng = random.Random(seed)

    async def __call__(self, items: list[Item]) -> Any:
        self.num_running += 1
        assert self.num_running <= self.max_calls
        self.sizes.append(len(items))
        self.seen += [item.number for item in items]
        try:
            for _ in range(self._rng.randrange(6)):
                await asyncio.sleep(0)
            return self._end(items)
        finally:
            self.num_running -= 1

    def _end(self, items: list[Item]) -> object:
        fate = self._fates.pop() if self._fates else "answer"
        answers: list[object] = [
            KeyError(item.number) if item.number % 7 == 6 else item.number for item in items
        ]
        match fate:
            case "raise":
                message = "the replica died"
                raise OSError(message)
            case "few":
                return answers[1:]
            case "many":
                return [*answers, 1]
            case "none":
                return None
            case "cancelled":
                raise asyncio.CancelledError
        return answers


async def _run(
    far: Far, gatherer: Gatherer[Item, int], plan: Sequence[tuple[int, int | None]]
) -> list[object]:
    """Ask, each item after a number of turns, some withdrawn after some turns more."""

    async def ask(number: int, after: int) -> int:
        for _ in range(after):
            await asyncio.sleep(0)
        return await gatherer.ask(Item(number))

    async def withdraw(task: asyncio.Task[int], after: int) -> None:
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()

    asking = [asyncio.create_task(ask(number, after)) for number, (after, _) in enumerate(plan)]
    leaving = [
        asyncio.create_task(withdraw(task, after + more))
        for task, (after, more) in zip(asking, plan, strict=True)
        if more is not None
    ]
    ends = list(await asyncio.wait_for(asyncio.gather(*asking, return_exceptions=True), 5))
    await asyncio.gather(*leaving)
    for _ in range(20):
        await asyncio.sleep(0)
    assert gatherer.num_waiting == far.num_running == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return ends


@given(
    plan=st.lists(
        st.tuples(st.integers(0, 12), st.none() | st.none() | st.integers(0, 6)), max_size=40
    ),
    fates=st.lists(FATES, max_size=12),
    seed=st.integers(0, 999),
    max_calls=st.integers(1, 3),
    max_size=st.integers(1, 5),
)
def test_every_item_gets_its_own_answer_once(
    plan: list[tuple[int, int | None]],
    fates: list[str],
    seed: int,
    max_calls: int,
    max_size: int,
) -> None:
    far = Far(fates, seed, max_calls)
    gatherer: Gatherer[Item, int] = Gatherer(far, max_calls=max_calls, max_size=max_size)
    ends = asyncio.run(_run(far, gatherer, plan))
    assert len(far.seen) == len(set(far.seen))
    assert all(0 < size <= max_size for size in far.sizes)
    for number, (end, (_, withdrawn)) in enumerate(zip(ends, plan, strict=True)):
        if isinstance(end, asyncio.CancelledError):
            assert withdrawn is not None
        elif isinstance(end, KeyError):
            assert end.args == (number,)
        elif not isinstance(end, OSError | ShardUnavailableError):
            assert end == number != 6
    if not fates:
        fine = [end for end, (_, withdrawn) in zip(ends, plan, strict=True) if withdrawn is None]
        assert all(isinstance(end, int | KeyError) for end in fine)


class Gate:
    """A call that stays under way until it is let through."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.cancelled: list[list[int]] = []
        self.opened = asyncio.Event()

    async def __call__(self, items: list[int]) -> list[int]:
        self.calls.append(items)
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.cancelled.append(items)
            raise
        return items


async def _turns() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


def test_a_lone_item_goes_at_once_and_those_that_wait_go_together() -> None:
    async def scenario() -> Gate:
        gate = Gate()
        gatherer: Gatherer[int, int] = Gatherer(gate, max_calls=2, max_size=3)
        asking = []
        for number in range(9):
            asking.append(asyncio.create_task(gatherer.ask(number)))
            await _turns()
        assert gate.calls == [[0], [1]]
        assert gatherer.num_waiting == 7
        gate.opened.set()
        assert await asyncio.gather(*asking) == list(range(9))
        return gate

    assert asyncio.run(scenario()).calls == [[0], [1], [2, 3, 4], [5, 6, 7], [8]]


def test_who_asks_again_in_the_moment_of_the_answer_is_answered() -> None:
    async def scenario() -> list[int]:
        async def double(items: list[int]) -> list[int]:
            await asyncio.sleep(0)
            return [2 * item for item in items]

        gatherer: Gatherer[int, int] = Gatherer(double, max_calls=1, max_size=8)

        async def ask_often() -> int:
            value = 1
            for _ in range(10):
                value = await gatherer.ask(value)
            return value

        return await asyncio.wait_for(asyncio.gather(*(ask_often() for _ in range(3))), 5)

    assert asyncio.run(scenario()) == [1024] * 3


def test_a_call_is_cancelled_when_the_last_who_waits_for_it_has_left() -> None:
    async def scenario() -> None:
        gate = Gate()
        gatherer: Gatherer[int, int] = Gatherer(gate, max_calls=1, max_size=2)
        first, second, third = (asyncio.create_task(gatherer.ask(number)) for number in range(3))
        await _turns()
        first.cancel()
        await _turns()
        assert not gate.cancelled
        second.cancel()
        await _turns()
        assert gate.cancelled == [[0, 1]]
        assert gate.calls[1:] == [[2]]
        gate.opened.set()
        assert await third == 2

    asyncio.run(scenario())


def test_what_is_withdrawn_before_its_call_is_never_asked() -> None:
    async def scenario() -> None:
        gate = Gate()
        gatherer: Gatherer[int, int] = Gatherer(gate, max_calls=1, max_size=8)
        tasks = [asyncio.create_task(gatherer.ask(number)) for number in range(1)]
        await _turns()
        tasks += [asyncio.create_task(gatherer.ask(number)) for number in range(1, 4)]
        await _turns()
        tasks[2].cancel()
        await _turns()
        gate.opened.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate.calls == [[0], [1, 3]]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "strange", [asyncio.CancelledError(), StopIteration(), KeyboardInterrupt(), GeneratorExit()]
)
def test_a_strange_exception_for_an_answer_fails_its_item_alone(strange: BaseException) -> None:
    async def scenario() -> list[object]:
        async def call(items: list[int]) -> list[Any]:
            return [strange if item == 1 else item for item in items]

        gatherer: Gatherer[int, int] = Gatherer(call, max_calls=1, max_size=8)
        asking = asyncio.gather(*map(gatherer.ask, range(3)), return_exceptions=True)
        return list(await asyncio.wait_for(asking, 5))

    first, second, third = asyncio.run(scenario())
    assert (first, third) == (0, 2)
    assert isinstance(second, ShardUnavailableError)
    assert type(strange).__name__ in str(second)


@pytest.mark.parametrize("end", [lambda: None, lambda: [1], lambda: 5, lambda: "ab"])
def test_answers_that_are_not_one_for_each_fail_all(end: Callable[[], Any]) -> None:
    async def scenario() -> list[object]:
        async def call(_items: list[int]) -> Any:
            return end()

        gatherer: Gatherer[int, int] = Gatherer(call, max_calls=1, max_size=8)
        asking = asyncio.gather(*map(gatherer.ask, range(3)), return_exceptions=True)
        return list(await asyncio.wait_for(asking, 5))

    for error in asyncio.run(scenario()):
        with pytest.raises(ShardUnavailableError, match="3 questions got"):
            raise error  # type: ignore[misc]
