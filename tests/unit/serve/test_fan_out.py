"""A group that is late, fails or talks nonsense leaves the query; the others do not notice."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from scp_ray.errors import ShardUnavailableError
from scp_ray.records import ChunkKey, ScoredChunk
from scp_ray.serve.fan_out import FanOut
from scp_ray.serve.gathering import Gatherer
from scp_ray.serve.group_calls import GroupCall, Step
from scp_ray.serve.group_client import CallingClient, GroupClient
from scp_ray.serve.metrics import NoMetrics
from scp_ray.serve.models import LATE
from scp_ray.storage.keys import generation_folder
from scp_ray.storage.publish import GenerationEntry

ENTRY = GenerationEntry(
    generation=1, manifest=generation_folder(1, "") + "/manifest.json", manifest_sha256="0" * 64
)


def hit(shard_id: int) -> ScoredChunk:
    return ScoredChunk(ChunkKey(f"{shard_id}.md", 0), 0.5, 0.5, 0.5, 0.0, 0.0, 0, shard_id)


class Outcomes(NoMetrics):
    """Keeps how calls ended."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def call_done(self, group: str, step: str, seconds: float, outcome: str) -> None:
        assert seconds >= 0.0
        self.seen.append((group, step, outcome))


class Remote:
    """What is at the far end of a group: answers, with whatever it is told to."""

    def __init__(self, answer: object, seconds: float = 0.0) -> None:
        self.answer = answer
        self.seconds = seconds
        self.num_cancelled = 0

    async def __call__(self, calls: list[GroupCall]) -> Any:
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.num_cancelled += 1
            raise
        if isinstance(self.answer, BaseException):
            raise self.answer
        if callable(self.answer):
            return self.answer(calls)
        return [self.answer] * len(calls)


def clients(remotes: Sequence[Remote]) -> list[GroupClient]:
    return [
        CallingClient(
            f"group-{number}",
            frozenset({number}),
            ENTRY,
            Gatherer(remote, max_calls=2, max_size=8).ask,
        )
        for number, remote in enumerate(remotes)
    ]


async def ask_texts(
    remotes: Sequence[Remote], *, seconds: float = 2.0, share: float = 1.0
) -> tuple[FanOut, dict[ChunkKey, str], Outcomes]:
    outcomes = Outcomes()
    fan_out = FanOut(clients(remotes), seconds, 1, outcomes)
    hits = [hit(number) for number in range(len(remotes))]
    texts = await fan_out.gather(
        Step.TEXTS, hits, lambda group, mine: group.texts(mine), share=share
    )
    return fan_out, texts, outcomes


def fine(number: int) -> Remote:
    return Remote({hit(number).key: f"text {number}"})


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        "text",
        b"\x00",
        [hit(1)],
        {hit(1).key: 5},
        {hit(0).key: "somebody else's"},
        {"key": "text"},
        OSError("disk on fire"),
        KeyError("column"),
        asyncio.CancelledError(),
        StopIteration(),
        lambda _calls: [],
        lambda _calls: [1, 2, 3],
        lambda _calls: None,
        lambda _calls: [asyncio.CancelledError()],
        lambda _calls: [OSError("one call")],
    ],
    ids=repr,
)
def test_garbage_costs_its_own_group_alone(answer: object) -> None:
    remotes = [fine(0), Remote(answer), fine(2)]
    fan_out, texts, outcomes = asyncio.run(ask_texts(remotes))
    assert texts == {hit(0).key: "text 0", hit(2).key: "text 2"}
    assert [group.name for group in fan_out.alive] == ["group-0", "group-2"]
    (degraded,) = fan_out.degraded
    assert degraded.group == "group-1"
    assert degraded.reason != LATE
    assert ("group-0", "texts", "ok") in outcomes.seen
    assert len(outcomes.seen) == 3


def test_a_slow_group_costs_the_share_of_the_time_and_is_cancelled() -> None:
    async def scenario() -> None:
        remotes = [fine(0), Remote(None, seconds=60)]
        started = time.monotonic()
        fan_out, texts, outcomes = await ask_texts(remotes, seconds=0.4, share=0.5)
        assert 0.15 <= time.monotonic() - started < 0.4
        assert texts == {hit(0).key: "text 0"}
        assert [(one.group, one.reason) for one in fan_out.degraded] == [("group-1", LATE)]
        assert ("group-1", "texts", "late") in outcomes.seen
        await asyncio.sleep(0.02)
        assert remotes[1].num_cancelled == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())


def test_a_group_that_left_is_not_asked_again() -> None:
    async def scenario() -> None:
        asked: list[str] = []

        async def ask(group: GroupClient) -> str:
            asked.append(group.name)
            if group.name == "group-0":
                message = "no"
                raise ShardUnavailableError(message)
            return group.name

        fan_out = FanOut(clients([fine(0), fine(1)]), 2.0, 1, Outcomes())
        for _ in range(2):
            assert await fan_out.call(Step.SEARCH, ask, share=1.0) == {"group-1": "group-1"}
        assert asked == ["group-0", "group-1", "group-1"]
        assert len(fan_out.degraded) == 1

    asyncio.run(scenario())


def test_only_groups_that_hold_a_hit_are_asked() -> None:
    async def scenario() -> None:
        remotes = [fine(0), fine(1), Remote(OSError("not to be asked"))]
        outcomes = Outcomes()
        fan_out = FanOut(clients(remotes), 2.0, 1, outcomes)
        hits = [hit(0), hit(1)]
        texts = await fan_out.gather(
            Step.TEXTS, hits, lambda group, mine: group.texts(mine), share=1.0
        )
        assert set(texts) == {one.key for one in hits}
        assert fan_out.degraded == []
        assert {group for group, *_ in outcomes.seen} == {"group-0", "group-1"}

    asyncio.run(scenario())


def test_after_the_deadline_nothing_is_waited_for() -> None:
    async def scenario() -> None:
        remotes = [Remote(None, seconds=60), Remote(None, seconds=60)]
        fan_out, texts, _ = await ask_texts(remotes, seconds=0.0)
        assert (texts, fan_out.alive, fan_out.seconds_left(1.0)) == ({}, [], 0.0)
        assert [one.reason for one in fan_out.degraded] == [LATE, LATE]

    asyncio.run(scenario())


def test_a_client_that_leaves_cancels_all_calls() -> None:
    async def scenario() -> None:
        remotes = [Remote(None, seconds=60) for _ in range(3)]
        asking = asyncio.create_task(ask_texts(remotes))
        await asyncio.sleep(0.02)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.sleep(0.02)
        assert [remote.num_cancelled for remote in remotes] == [1, 1, 1]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())
