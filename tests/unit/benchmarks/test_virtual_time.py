"""Time that passes only while nobody works."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from benchmarks.virtual_time import VirtualClock, VirtualLoop


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def loops(clock: VirtualClock) -> Iterator[list[VirtualLoop]]:
    """Two loops of one clock, each in a thread."""
    made = [clock.new_event_loop() for _ in range(2)]
    threads = [threading.Thread(target=loop.run_forever) for loop in made]
    for thread in threads:
        thread.start()
    yield made
    for loop, thread in zip(made, threads, strict=True):
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_sleeping_takes_no_time_and_moves_the_clock(clock: VirtualClock) -> None:
    loop = clock.new_event_loop()
    started = time.monotonic()

    async def sleep_twice() -> list[float]:
        await asyncio.gather(asyncio.sleep(3000), asyncio.sleep(2000))
        before = loop.time()
        await asyncio.sleep(500)
        return [before, loop.time()]

    assert loop.run_until_complete(sleep_twice()) == [3000, 3500]
    assert time.monotonic() - started < 10
    loop.close()


def test_loops_take_their_turns_in_the_order_of_the_clock(
    clock: VirtualClock, loops: list[VirtualLoop]
) -> None:
    order: list[tuple[int, float]] = []

    async def tick(number: int, period: float) -> None:
        for _ in range(4):
            await asyncio.sleep(period)
            order.append((number, clock.now))

    with clock.working():
        ticking = [
            asyncio.run_coroutine_threadsafe(tick(number, period), loop)
            for number, (loop, period) in enumerate(zip(loops, (3.0, 5.0), strict=True))
        ]
    for done in ticking:
        done.result()

    assert order == [(0, 3), (1, 5), (0, 6), (0, 9), (1, 10), (0, 12), (1, 15), (1, 20)]


def test_time_stands_still_while_someone_works(
    clock: VirtualClock, loops: list[VirtualLoop]
) -> None:
    with clock.working():
        sleeping = asyncio.run_coroutine_threadsafe(asyncio.sleep(7), loops[0])
        time.sleep(0.05)
        assert clock.now == 0
        assert not sleeping.done()
        with clock.waiting():
            sleeping.result()
        assert clock.now == 7
