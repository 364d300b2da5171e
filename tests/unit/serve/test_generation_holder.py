"""What a process keeps open, and until when."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from scp_ray.errors import ChecksumError, NotReadyError
from scp_ray.serve import generation_holder
from scp_ray.serve.generation_board import FRONT, Directive, GenerationBoard, HolderReport, Stage
from scp_ray.serve.generation_holder import GenerationHolder
from scp_ray.serve.models import ReloadState
from scp_ray.storage.keys import generation_folder
from scp_ray.storage.publish import GenerationEntry


def entry(number: int) -> GenerationEntry:
    manifest = generation_folder(number, "") + "/manifest.json"
    return GenerationEntry(generation=number, manifest=manifest, manifest_sha256=f"{number:064x}")


ONE, TWO, THREE = entry(1), entry(2), entry(3)


class Part:
    """A part of a generation, which a weak reference can watch."""

    def __init__(self, number: int) -> None:
        self.number = number


class Desk:
    """A coordinator in this process, around a real board, that can be made to fail or hang."""

    def __init__(self, wanted: dict[str, int] | None = None) -> None:
        self.board = GenerationBoard(ONE, wanted or {FRONT: 1}, lifetime_s=15.0)
        self.now = 0.0
        self.reports: list[HolderReport] = []
        self.trouble = ""
        self._changed = asyncio.Event()

    async def sync(self, report: HolderReport, seen: int) -> Directive:
        if self.trouble == "raise":
            message = "the actor died"
            raise OSError(message)
        if self.trouble == "hang":
            await asyncio.sleep(60)
        self.reports.append(report)
        self.act(lambda: self.board.report(report, self.now))
        if self.board.directive.version == seen:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), 0.02)
        return self.board.tell(report.holder)

    def act(self, change: Callable[[], None]) -> None:
        version = self.board.directive.version
        change()
        if self.board.directive.version != version:
            self._changed.set()
            self._changed = asyncio.Event()

    def publish(self, current: GenerationEntry) -> None:
        self.act(lambda: self.board.offer(current, self.now))


class Shelf:
    """Opens parts; some cannot be opened."""

    def __init__(self) -> None:
        self.damaged: set[GenerationEntry] = set()
        self.tried: list[int] = []
        self.watched: dict[int, weakref.ref[Part]] = {}
        self.gate: threading.Event | None = None

    def open(self, entry: GenerationEntry) -> Part:
        self.tried.append(entry.generation)
        if self.gate is not None:
            self.gate.wait(5)
        if entry in self.damaged:
            message = f"generation {entry.generation} is damaged"
            raise ChecksumError(message)
        part = Part(entry.generation)
        self.watched[entry.generation] = weakref.ref(part)
        return part

    def is_gone(self, number: int) -> bool:
        gc.collect()
        return self.watched[number]() is None


class Bench:
    """A holder, its coordinator and its shelf."""

    def __init__(self, deployment: str = FRONT, wanted: dict[str, int] | None = None) -> None:
        self.desk, self.shelf = Desk(wanted), Shelf()
        self.holder = GenerationHolder("me", deployment, self.desk, self.shelf.open)

    @property
    def served(self) -> int | None:
        try:
            with self.holder.serving() as part:
                return part.number
        except NotReadyError:
            return None

    async def until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(400):
            if is_so():
                return
            await asyncio.sleep(0.005)
        pytest.fail("it did not come to that")


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation_holder, "_PAUSE_S", 0.01)
    monkeypatch.setattr(generation_holder, "PATIENCE_S", 0.05)


def on(
    bench_of: Callable[[], Bench], scenario: Callable[[Bench], Coroutine[Any, Any, None]]
) -> None:
    """Run a scenario with a started holder, and see that nothing is left running."""

    async def run() -> None:
        bench = bench_of()
        await bench.holder.start()
        await bench.until(lambda: bench.served == 1)
        try:
            await scenario(bench)
        finally:
            await bench.holder.close()
        await asyncio.sleep(0.03)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_a_new_generation_is_taken_and_the_old_one_freed() -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.now = 100.0
        bench.desk.publish(TWO)
        await bench.until(lambda: bench.served == 2)
        await bench.until(lambda: bench.shelf.is_gone(1))
        assert [part.number for part in bench.holder.parts] == [2]
        assert bench.holder.part(TWO).number == 2
        with pytest.raises(NotReadyError, match="me has generation 1 not open"):
            bench.holder.part(ONE)
        assert bench.holder.reload is not None
        assert bench.holder.reload.state is ReloadState.CURRENT

    on(Bench, scenario)


def test_the_old_one_stays_until_its_last_request_has_ended() -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.now = 100.0
        with bench.holder.serving() as first:
            with bench.holder.serving():
                bench.desk.publish(TWO)
                await bench.until(lambda: bench.served == 2)
            await asyncio.sleep(0.1)
            assert bench.holder.part(ONE) is first
            assert {ONE, TWO} <= bench.desk.board.directive.keep
        del first
        await bench.until(lambda: bench.shelf.is_gone(1))
        await bench.until(lambda: bench.desk.board.directive.keep == {TWO})

    on(Bench, scenario)


def test_the_end_of_the_last_request_is_told_at_once() -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.now = 100.0
        with bench.holder.serving():
            bench.desk.publish(TWO)
            await bench.until(lambda: bench.served == 2)
            await bench.until(lambda: bench.desk.reports[-1].in_use == {ONE, TWO})
            num_reports = len(bench.desk.reports)
        await bench.until(lambda: bench.desk.reports[-1].in_use == {TWO})
        assert len(bench.desk.reports) <= num_reports + 4

    on(Bench, scenario)


def test_a_generation_that_cannot_be_opened_leaves_the_old_one_and_is_tried_again() -> None:
    async def scenario(bench: Bench) -> None:
        bench.shelf.damaged.add(TWO)
        bench.desk.publish(TWO)
        await bench.until(
            lambda: (
                bench.holder.reload is not None and bench.holder.reload.state is ReloadState.FAILED
            )
        )
        assert "generation 2 is damaged" in str(bench.holder.reload)
        await asyncio.sleep(0.1)
        assert bench.served == 1
        assert bench.shelf.tried == [1, 2]
        bench.shelf.damaged.clear()
        bench.desk.act(lambda: bench.desk.board.retry(bench.desk.now))
        await bench.until(lambda: bench.served == 2)
        assert bench.shelf.tried == [1, 2, 2]

    on(Bench, scenario)


def test_what_failed_elsewhere_is_not_opened_while_current_cannot_be_read() -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.now = 100.0
        board = bench.desk.board
        bench.desk.act(lambda: board.offer(TWO, 100.0))
        attempt = board.directive.attempt
        failed = HolderReport(
            "other", "group-0", frozenset({ONE}), failed={TWO: "damaged"}, attempt=attempt
        )
        bench.desk.act(lambda: board.report(failed, 100.0))
        bench.desk.act(lambda: board.lose("StorageError: no route", 100.0))
        await bench.until(lambda: board.directive.keep == {ONE})
        await asyncio.sleep(0.1)
        tried = len(bench.shelf.tried)
        await asyncio.sleep(0.2)
        assert len(bench.shelf.tried) == tried <= 2
        assert bench.served == 1
        assert bench.holder.reload is not None
        assert bench.holder.reload.state is ReloadState.UNREADABLE

    on(Bench, scenario)


def test_a_front_is_told_to_come_to_its_end_and_says_when_it_has() -> None:
    async def scenario(bench: Bench) -> None:
        board = bench.desk.board
        bench.desk.act(lambda: board.drain(bench.desk.now))
        await asyncio.wait_for(bench.holder.draining.wait(), 5)
        assert board.directive.stage is Stage.DRAINING
        assert bench.served == 1
        bench.holder.tell_drained()
        await bench.until(lambda: board.directive.stage is Stage.DRAINED)

    on(Bench, scenario)


def test_a_newer_one_is_taken_in_place_of_one_that_failed_or_is_still_being_opened() -> None:
    async def scenario(bench: Bench) -> None:
        bench.shelf.damaged.add(TWO)
        bench.shelf.gate = threading.Event()
        bench.desk.publish(TWO)
        await bench.until(lambda: bench.shelf.tried == [1, 2])
        bench.desk.publish(THREE)
        await asyncio.sleep(0.05)
        assert bench.served == 1
        bench.shelf.gate.set()
        await bench.until(lambda: bench.served == 3)

    on(Bench, scenario)


@pytest.mark.parametrize("trouble", ["raise", "hang"])
def test_a_coordinator_in_trouble_changes_nothing_and_is_heard_again(trouble: str) -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.trouble = trouble
        bench.desk.publish(TWO)
        await asyncio.sleep(0.2)
        assert bench.served == 1
        bench.desk.trouble = ""
        await bench.until(lambda: bench.served == 2)

    on(Bench, scenario)


def test_a_coordinator_that_starts_anew_takes_nothing_away() -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.now = 100.0
        with bench.holder.serving() as first:
            bench.desk.publish(TWO)
            await bench.until(lambda: bench.served == 2)
            bench.desk.board = GenerationBoard(TWO, {FRONT: 1}, lifetime_s=15.0)
            await asyncio.sleep(0.1)
            assert (bench.served, bench.holder.part(ONE)) == (2, first)

    on(Bench, scenario)


def test_a_replica_of_a_group_uses_nothing_and_closes_when_told() -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.now = 100.0
        bench.desk.publish(TWO)
        await bench.until(lambda: bench.served == 2)
        await bench.until(lambda: bench.shelf.is_gone(1))
        assert not any(report.in_use for report in bench.desk.reports)

    on(lambda: Bench("group-0", {"group-0": 1}), scenario)


def test_it_answers_from_the_first_one_when_start_is_over_and_everybody_has_it() -> None:
    async def run() -> None:
        bench = Bench()
        assert bench.served is None
        await bench.holder.start()
        assert bench.served == 1
        await bench.holder.close()

    asyncio.run(run())


def test_no_start_without_the_first_generation() -> None:
    async def run() -> None:
        bench = Bench()
        bench.shelf.damaged.add(ONE)
        with pytest.raises(ChecksumError, match="generation 1 is damaged"):
            await bench.holder.start()
        await bench.holder.close()

    asyncio.run(run())


def test_nothing_is_served_while_another_process_is_missing() -> None:
    async def run() -> None:
        bench = Bench(wanted={FRONT: 1, "group-0": 1})
        await bench.holder.start()
        with pytest.raises(NotReadyError, match="no generation is open in every process"):
            bench.holder.serving().__enter__()
        other = HolderReport("other", "group-0", frozenset({ONE}))
        bench.desk.act(lambda: bench.desk.board.report(other, 0.0))
        await bench.until(lambda: bench.served == 1)
        await bench.holder.close()

    asyncio.run(run())


def test_a_cancelled_request_gives_its_use_back() -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.now = 100.0

        async def request() -> None:
            with bench.holder.serving():
                await asyncio.sleep(60)

        requests = [asyncio.create_task(request()) for _ in range(20)]
        await asyncio.sleep(0)
        bench.desk.publish(TWO)
        await bench.until(lambda: bench.served == 2)
        assert bench.holder.part(ONE).number == 1
        for task in requests:
            task.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        await bench.until(lambda: bench.shelf.is_gone(1))

    on(Bench, scenario)


def test_an_error_in_a_request_gives_its_use_back() -> None:
    async def scenario(bench: Bench) -> None:
        bench.desk.now = 100.0
        with pytest.raises(OSError, match="request"), bench.holder.serving():
            message = "request"
            raise OSError(message)
        bench.desk.publish(TWO)
        await bench.until(lambda: bench.shelf.is_gone(1))

    on(Bench, scenario)
