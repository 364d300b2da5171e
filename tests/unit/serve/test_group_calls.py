"""Calls that travel together are answered apart."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from scp_ray.errors import NotReadyError
from scp_ray.serve.group_calls import GroupCall, Step, answer_calls
from scp_ray.storage.keys import generation_folder
from scp_ray.storage.publish import GenerationEntry


def entry(number: int) -> GenerationEntry:
    manifest = generation_folder(number, "") + "/manifest.json"
    return GenerationEntry(generation=number, manifest=manifest, manifest_sha256=f"{number:064x}")


class Group:
    """Answers with what it was asked; one of its calls can wait for another one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.both = threading.Barrier(2, timeout=5)
        self.num_begun = 0

    def first_pass(self, *arguments: Any) -> Any:
        return (self.number, "first_pass", *arguments)

    def second_pass(self, *arguments: Any) -> Any:
        return (self.number, "second_pass", *arguments)

    def search(self, *_arguments: Any) -> Any:
        message = "damaged"
        raise OSError(message)

    def results(self, *_arguments: Any) -> Any:
        self.both.wait()
        return threading.current_thread().name

    def texts(self, gate: threading.Event) -> Any:
        self.num_begun += 1
        gate.wait(5)


GROUPS = {entry(1): Group(1), entry(2): Group(2)}


def _group_of(generation: GenerationEntry) -> Any:
    try:
        return GROUPS[generation]
    except KeyError as error:
        message = f"generation {generation.generation} is not open"
        raise NotReadyError(message) from error


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2, "search") as executor:
        yield executor


def test_each_call_has_its_own_answer_or_error(executor: ThreadPoolExecutor) -> None:
    vector = np.zeros(3)
    calls = [
        GroupCall(entry(1), Step.FIRST_PASS, (vector, 1)),
        GroupCall(entry(2), Step.SEARCH, ()),
        GroupCall(entry(3), Step.FIRST_PASS, ()),
        GroupCall(entry(2), Step.SECOND_PASS, (vector, None)),
        GroupCall(entry(1), Step.TEXTS, ()),
    ]
    first, failed, closed, second, wrong = asyncio.run(answer_calls(calls, _group_of, executor))
    assert first[:2] == (1, "first_pass")
    assert first[2] is vector
    assert (second[0], second[1], second[3]) == (2, "second_pass", None)
    assert isinstance(failed, OSError)
    assert isinstance(closed, NotReadyError)
    assert isinstance(wrong, TypeError)


def test_calls_run_beside_each_other_and_off_the_event_loop(executor: ThreadPoolExecutor) -> None:
    calls = [GroupCall(entry(1), Step.RESULTS, ()) for _ in range(2)]
    names = asyncio.run(answer_calls(calls, _group_of, executor))
    assert all(str(name).startswith("search") for name in names)
    assert len(set(names)) == 2


def test_calls_that_wait_for_a_thread_are_not_begun_once_they_are_cancelled(
    executor: ThreadPoolExecutor,
) -> None:
    gate, group = threading.Event(), GROUPS[entry(2)]

    async def scenario() -> None:
        calls = [GroupCall(entry(2), Step.TEXTS, (gate,)) for _ in range(10)]
        answering = asyncio.create_task(answer_calls(calls, _group_of, executor))
        await asyncio.sleep(0.02)
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering
        gate.set()

    asyncio.run(scenario())
    executor.shutdown()
    assert group.num_begun == 2


def test_calls_are_equal_to_none_but_themselves() -> None:
    call = GroupCall(entry(1), Step.FIRST_PASS, (np.zeros(3),))
    assert call == call  # noqa: PLR0124 - arrays inside have no truth value
    assert call != GroupCall(entry(1), Step.FIRST_PASS, call.arguments)
