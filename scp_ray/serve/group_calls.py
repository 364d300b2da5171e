"""The calls that a front makes of a shard group, many in one message, and how a group answers."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scp_ray.serve.shard_group import ShardGroup
from scp_ray.storage.publish import GenerationEntry


class Step(StrEnum):
    """What is asked of a group, by the name of a method of ``ShardGroup``, or of an encoder."""

    FIRST_PASS = "first_pass"  # noqa: S105 - a pass, not a password
    SECOND_PASS = "second_pass"  # noqa: S105
    SEARCH = "search"
    RESULTS = "results"
    TEXTS = "texts"
    ENCODE = "encode"


@dataclass(frozen=True, slots=True, eq=False)
class GroupCall:
    """One step of one query.

    Attributes:
        generation: The generation that the whole query is answered from.
        step: The method.
        arguments: Its arguments.
    """

    generation: GenerationEntry
    step: Step
    arguments: tuple[Any, ...]


async def answer_calls(
    calls: Sequence[GroupCall],
    group_of: Callable[[GenerationEntry], ShardGroup],
    executor: Executor,
) -> list[Any]:
    """Answer calls in threads; an exception in place of an answer is that of its call alone."""
    loop = asyncio.get_running_loop()

    def answer(call: GroupCall) -> object:
        group = group_of(call.generation)
        return getattr(group, call.step.value)(*call.arguments)

    running = (loop.run_in_executor(executor, answer, call) for call in calls)
    return await asyncio.gather(*running, return_exceptions=True)
