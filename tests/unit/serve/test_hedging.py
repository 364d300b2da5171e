"""A second call where the first one is slow or fails: never more, never left behind."""

import asyncio
from collections.abc import Sequence

import pytest

from scp_ray.serve.hedging import HedgedCall
from scp_ray.serve.metrics import NoMetrics

FOREVER = 60.0


class Hedges(NoMetrics):
    """Counts second calls."""

    def __init__(self) -> None:
        self.groups: list[str] = []

    def hedged(self, group: str) -> None:
        self.groups.append(group)


class Replicas:
    """Answers each call after so many seconds, or with an error."""

    def __init__(self, script: Sequence[tuple[float, object]]) -> None:
        self.script = [*script]
        self.metrics = Hedges()
        self.num_calls = 0
        self.num_cancelled = 0
        self.hedged = HedgedCall(self._call, "group-1", self.metrics)

    async def _call(self, request: str) -> str:
        self.num_calls += 1
        seconds, end = self.script.pop(0) if self.script else (0.0, request)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.num_cancelled += 1
            raise
        if isinstance(end, Exception):
            raise end
        return str(end)

    async def learn(self, number: int = 20) -> None:
        """Make calls that answer at once."""
        script, self.script = self.script, []
        for _ in range(number):
            await self.hedged("quick")
        self.script, self.num_calls = script, 0


async def _nothing_left() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_no_second_call_before_anything_was_learnt() -> None:
    async def scenario() -> None:
        replicas = Replicas([(0.05, "slow")])
        await replicas.learn(19)
        assert await replicas.hedged("x") == "slow"
        assert replicas.num_calls == 1
        assert replicas.metrics.groups == []

    asyncio.run(scenario())


def test_a_slow_call_is_overtaken_and_cancelled() -> None:
    async def scenario() -> None:
        replicas = Replicas([(FOREVER, "slow"), (0.0, "second")])
        await replicas.learn()
        assert await asyncio.wait_for(replicas.hedged("x"), 5) == "second"
        await _nothing_left()
        assert (replicas.num_calls, replicas.num_cancelled) == (2, 1)
        assert replicas.metrics.groups == ["group-1"]

    asyncio.run(scenario())


def test_the_first_call_may_still_win_and_the_second_one_is_cancelled() -> None:
    async def scenario() -> None:
        replicas = Replicas([(0.1, "first"), (FOREVER, "second")])
        await replicas.learn()
        assert await asyncio.wait_for(replicas.hedged("x"), 5) == "first"
        await _nothing_left()
        assert (replicas.num_calls, replicas.num_cancelled) == (2, 1)

    asyncio.run(scenario())


@pytest.mark.parametrize("is_learnt", [True, False])
def test_a_call_that_fails_is_made_again_at_once(is_learnt: bool) -> None:
    async def scenario() -> None:
        replicas = Replicas([(0.0, OSError("one")), (0.0, "second")])
        if is_learnt:
            await replicas.learn()
        assert await asyncio.wait_for(replicas.hedged("x"), 5) == "second"
        assert replicas.num_calls == 2

    asyncio.run(scenario())


def test_a_second_call_that_fails_leaves_the_first_one_its_time() -> None:
    async def scenario() -> None:
        replicas = Replicas([(0.1, "first"), (0.0, OSError("two"))])
        await replicas.learn()
        assert await asyncio.wait_for(replicas.hedged("x"), 5) == "first"
        assert replicas.num_calls == 2

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("script", "last"),
    [
        ([(0.0, OSError("one")), (0.02, OSError("two"))], "two"),
        ([(0.1, OSError("one")), (0.0, OSError("two"))], "one"),
    ],
)
def test_when_both_fail_the_last_error_is_raised(
    script: list[tuple[float, object]], last: str
) -> None:
    async def scenario() -> None:
        replicas = Replicas(script)
        await replicas.learn()
        with pytest.raises(OSError, match=last):
            await asyncio.wait_for(replicas.hedged("x"), 5)
        await _nothing_left()
        assert replicas.num_calls == 2

    asyncio.run(scenario())


def test_cancelling_ends_both_calls() -> None:
    async def scenario() -> None:
        replicas = Replicas([(FOREVER, "first"), (FOREVER, "second")])
        await replicas.learn()
        asking = asyncio.create_task(replicas.hedged("x"))
        await asyncio.sleep(0.1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await _nothing_left()
        assert (replicas.num_calls, replicas.num_cancelled) == (2, 2)

    asyncio.run(scenario())
