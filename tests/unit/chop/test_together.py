"""Calls that run together."""

import asyncio

import pytest

from scp_ray.chop.together import all_together


async def _later(value: int, turns: int) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return value


async def _failing() -> int:
    message = "no"
    raise ValueError(message)


def test_results_come_in_the_order_of_the_work() -> None:
    assert asyncio.run(all_together([_later(1, 5), _later(2, 0), _later(3, 2)])) == [1, 2, 3]


def test_the_first_failure_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="no"):
        asyncio.run(all_together([_later(1, 10_000), _failing()]))
