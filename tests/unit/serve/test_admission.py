"""Places for questions: none is lost, and no more are given than there are."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.errors import ConfigError, NotReadyError, OverloadedError
from scp_ray.serve.admission import Admission

ENDS = st.sampled_from(["answer", "error", "stay", "cancelled", "cancelled at once"])
Calls = list[tuple[str, int]]


class Front:
    """Holds places for requests that end in every way."""

    def __init__(self, limit: int, seed: int) -> None:
        self.admission = Admission(limit)
        self.seen: list[int] = []
        self._rng = random.Random(seed)

    async def _request(self, how: str, num_questions: int) -> None:
        with self.admission.hold(num_questions):
            self.seen.append(self.admission.in_flight)
            for _ in range(self._rng.randrange(4)):
                await asyncio.sleep(0)
            if how == "error":
                raise OSError
            if how != "answer":
                await asyncio.sleep(3600)

    async def serve(self, calls: Calls) -> list[object]:
        """Begin all requests, end those that do not end by themselves, and say how they ended."""
        tasks = []
        for how, num_questions in calls:
            task = asyncio.ensure_future(self._request(how, num_questions))
            tasks.append(task)
            if how == "cancelled at once":
                task.cancel()
            await asyncio.sleep(0)
            if how == "cancelled":
                asyncio.get_running_loop().call_soon(task.cancel)
        for _ in range(6):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        return list(await asyncio.gather(*tasks, return_exceptions=True))


@given(
    st.lists(st.tuples(ENDS, st.integers(1, 12)), max_size=30), st.integers(1, 10), st.integers()
)
def test_no_place_is_lost_however_requests_end(calls: Calls, limit: int, seed: int) -> None:
    front = Front(limit, seed)
    ended = asyncio.run(front.serve(calls))
    assert front.admission.in_flight == 0
    assert all(0 < count <= limit for count in front.seen)
    known = (asyncio.CancelledError, OSError, OverloadedError, ConfigError)
    assert all(end is None or isinstance(end, known) for end in ended)


def test_questions_beyond_the_limit_are_refused_until_others_end() -> None:
    admission = Admission(3)
    with admission.hold(2):
        with pytest.raises(OverloadedError, match=r"2 questions are being answered, 3 at most"):
            admission.hold(2).__enter__()
        assert admission.in_flight == 2
        with admission.hold(1):
            assert admission.in_flight == 3
    with admission.hold(3):
        assert admission.in_flight == 3
    assert admission.in_flight == 0


def test_what_can_never_fit_is_not_told_to_come_back() -> None:
    with pytest.raises(ConfigError, match="4 questions at once; at most 3 are taken"):
        Admission(3).hold(4).__enter__()


def test_end_waits_for_the_last_question_and_lets_none_in_after_its_notice() -> None:
    async def main() -> list[str]:
        admission, order = Admission(3), []

        async def end() -> None:
            await admission.end(0.01)
            order.append("ended")

        with admission.hold(1):
            admission.require_ready()
            ending = asyncio.create_task(end())
            await asyncio.sleep(0)
            with pytest.raises(NotReadyError, match="the service is stopping"):
                admission.require_ready()
            with admission.hold(2):
                order.append("in the notice")
            await asyncio.sleep(0.05)
            with pytest.raises(NotReadyError, match="the service is stopping"):
                admission.hold(1).__enter__()
            assert not ending.done()
            order.append("last")
        await ending
        return order

    assert asyncio.run(main()) == ["in the notice", "last", "ended"]


def test_end_of_an_idle_front_waits_for_nothing() -> None:
    asyncio.run(asyncio.wait_for(Admission(1).end(0.0), 1))
