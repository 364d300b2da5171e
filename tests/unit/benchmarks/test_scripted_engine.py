"""An engine with delays."""

import asyncio

import pytest

from benchmarks.scripted_engine import ScriptedEngine, ServiceModel
from benchmarks.virtual_time import VirtualClock
from scp_ray.chop.parsing import parse_cnm
from scp_ray.chop.prompting import continuity_request, extraction_request, parse_decision
from scp_ray.protocols import Generation

SERVICE = ServiceModel(capacity=4, share_s=1.0, decision_s=10.0, extraction_s=100.0)


def seconds_and_answers(num_decisions: int, num_extractions: int) -> tuple[float, list[Generation]]:
    async def asked() -> tuple[float, list[Generation]]:
        engine = ScriptedEngine(SERVICE)
        requests = [continuity_request(f"a {n}", f"b {n}") for n in range(num_decisions)]
        requests += [extraction_request(f"c {n}") for n in range(num_extractions)]
        answers = await asyncio.gather(*map(engine.generate, requests))
        assert engine.num_requests == len(requests)
        return asyncio.get_running_loop().time(), answers

    loop = VirtualClock().new_event_loop()
    try:
        return loop.run_until_complete(asked())
    finally:
        loop.close()


@pytest.mark.parametrize(
    ("decisions", "extractions", "seconds"), [(1, 0, 11), (4, 0, 14), (0, 1, 101), (5, 0, 25)]
)
def test_a_request_takes_longer_the_more_there_are_and_waits_where_there_is_no_room(
    decisions: int, extractions: int, seconds: float
) -> None:
    assert seconds_and_answers(decisions, extractions)[0] == pytest.approx(seconds, abs=1)


def test_answers_can_be_used_and_some_decisions_are_false() -> None:
    _, answers = seconds_and_answers(200, 3)
    decisions = [parse_decision(answer.text) for answer in answers[:200]]
    assert 5 < decisions.count(False) < 40
    assert all(parse_cnm(answer.text).category for answer in answers[200:])
