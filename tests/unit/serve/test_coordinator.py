"""The board in its process: who waits is told at once, and ``CURRENT`` is looked at."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from scp_ray.config import Settings
from scp_ray.errors import IndexFormatError
from scp_ray.serve import coordinator as coordinator_module
from scp_ray.serve.coordinator import GenerationCoordinator
from scp_ray.serve.generation_board import FRONT, Directive, HolderReport, Stage
from scp_ray.serve.metrics import NoMetrics
from scp_ray.serve.models import ReloadState
from scp_ray.storage.keys import CURRENT, generation_folder
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.manifest import FORMAT_VERSION
from scp_ray.storage.publish import Current, GenerationEntry


def entry(number: int) -> GenerationEntry:
    manifest = generation_folder(number, "") + "/manifest.json"
    return GenerationEntry(generation=number, manifest=manifest, manifest_sha256=f"{number:064x}")


ONE, TWO = entry(1), entry(2)


class Told(NoMetrics):
    """Keeps what was told."""

    def __init__(self) -> None:
        self.reloads: list[str] = []
        self.generations: list[int] = []
        self.is_readable: list[bool] = []

    def reloaded(self, result: str) -> None:
        self.reloads.append(result)

    def current(self, *, is_readable: bool) -> None:
        if self.is_readable[-1:] != [is_readable]:
            self.is_readable.append(is_readable)

    def serving(self, generation: int) -> None:
        self.generations.append(generation)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    told = Told()
    monkeypatch.setattr(coordinator_module, "ServeMetrics", lambda: told)
    return told


class Index:
    """A folder whose ``CURRENT`` moves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = LocalObjectStore(folder)
        self.move(ONE)

    def move(self, current: GenerationEntry) -> None:
        text = Current(
            format_version=FORMAT_VERSION,
            generation=current.generation,
            fence=1,
            generations=[ONE, TWO],
            last_generation=2,
        ).model_dump_json()
        self.store.write(CURRENT, text.encode())


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path)


Scenario = Callable[[GenerationCoordinator], Coroutine[Any, Any, None]]


def run(index: Index, scenario: Scenario, *, poll_s: float = 60.0) -> None:
    """Run a scenario with a coordinator of one front, made with the first generation."""

    async def main() -> None:
        settings = Settings().with_values("serve", poll_s=poll_s)
        coordinator = GenerationCoordinator(str(index.folder), ONE, settings, {FRONT: 1})
        await asyncio.wait_for(scenario(coordinator), 10)

    asyncio.run(main())


async def sync(
    coordinator: GenerationCoordinator, seen: int, *is_open: GenerationEntry, **more: Any
) -> Directive:
    report = HolderReport("front", FRONT, frozenset(is_open), **more)
    return await coordinator.sync(report, seen)


def test_a_report_that_changes_something_is_answered_at_once(index: Index, told: Told) -> None:
    async def scenario(coordinator: GenerationCoordinator) -> None:
        first = await sync(coordinator, -1)
        assert (first.serving, first.target) == (None, ONE)
        second = await sync(coordinator, first.version, ONE)
        assert second.serving == ONE

    run(index, scenario)
    assert (told.generations, told.reloads) == ([1], ["swapped"])


def test_who_waits_is_told_of_a_new_generation_at_once(index: Index, told: Told) -> None:
    async def scenario(coordinator: GenerationCoordinator) -> None:
        first = await sync(coordinator, -1, ONE)
        waiting = asyncio.create_task(sync(coordinator, first.version, ONE))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        index.move(TWO)
        started = time.monotonic()
        answered = await coordinator.reload()
        directive = await waiting
        assert time.monotonic() - started < 2.0
        assert answered.target == directive.target == TWO
        assert (directive.serving, directive.reload.state) == (ONE, ReloadState.LOADING)

    run(index, scenario)
    assert told.reloads == ["swapped"]


def test_new_generations_are_seen_without_a_reload(index: Index, told: Told) -> None:
    async def scenario(coordinator: GenerationCoordinator) -> None:
        first = await sync(coordinator, -1, ONE)
        index.move(TWO)
        assert (await sync(coordinator, first.version, ONE)).target == TWO

    run(index, scenario, poll_s=0.02)
    assert told.generations[0] == 1


def test_nothing_new_is_said_after_a_while(
    index: Index, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator_module, "WAIT_S", 0.05)

    async def scenario(coordinator: GenerationCoordinator) -> None:
        first = await sync(coordinator, -1, ONE)
        assert await sync(coordinator, first.version, ONE) == first

    run(index, scenario)
    assert told.reloads == ["swapped"]


def test_one_that_starts_late_goes_by_current_and_not_by_what_it_was_made_with(
    index: Index, told: Told
) -> None:
    index.move(TWO)

    async def scenario(coordinator: GenerationCoordinator) -> None:
        assert (await sync(coordinator, -1, TWO)).serving == TWO

    run(index, scenario)
    assert told.generations == [2]


def test_a_failure_is_told_once_and_tried_again(
    index: Index, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(coordinator: GenerationCoordinator) -> None:
        await sync(coordinator, -1, ONE)
        index.move(TWO)
        attempt = (await coordinator.reload()).attempt
        for _ in range(3):
            failed = await sync(coordinator, -1, ONE, failed={TWO: "damaged"}, attempt=attempt)
            assert failed.reload.reason == "front: damaged"
        again = await coordinator.reload()
        assert (again.attempt, again.reload.state) == (attempt + 1, ReloadState.LOADING)
        assert (await sync(coordinator, -1, ONE, TWO, attempt=attempt + 1)).serving == TWO

    with caplog.at_level(logging.INFO, "scp_ray.serve"):
        run(index, scenario)
    assert told.reloads == ["swapped", "failed", "swapped"]
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert said == ["generation 2 not taken: front: damaged"]


def test_an_index_that_cannot_be_read_changes_nothing(
    index: Index, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    index.store.write(CURRENT, b"{")

    async def scenario(coordinator: GenerationCoordinator) -> None:
        assert (await sync(coordinator, -1, ONE)).serving == ONE
        index.move(TWO)
        await asyncio.sleep(0.1)
        assert (await sync(coordinator, -1, ONE)).target == TWO

    run(index, scenario, poll_s=0.02)
    assert "cannot look for a new generation" in caplog.text
    assert told.reloads == ["swapped"]
    assert told.is_readable == [False, True]


@pytest.mark.parametrize("damage", ["gone", "malformed"])
def test_current_that_is_lost_shows_until_it_is_back(
    index: Index, told: Told, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    async def scenario(coordinator: GenerationCoordinator) -> None:
        seen = (await sync(coordinator, -1, ONE)).version
        lose(index, damage)
        lost = await sync(coordinator, seen, ONE)
        assert (lost.serving, lost.target) == (ONE, ONE)
        assert (lost.reload.state, lost.reload.generation) == (ReloadState.UNREADABLE, 1)
        assert str(lost.reload.reason).startswith("IndexFormatError: ")
        await asyncio.sleep(0.1)
        index.move(ONE)
        back = await sync(coordinator, lost.version, ONE)
        assert (back.reload.state, back.reload.reason) == (ReloadState.CURRENT, None)

    with caplog.at_level(logging.INFO, "scp_ray.serve"):
        run(index, scenario, poll_s=0.02)
    assert told.is_readable == [True, False, True]
    assert told.reloads == ["swapped"]
    said = [record.getMessage().partition(":")[0] for record in caplog.records]
    expected = ["serving generation 1", "cannot look for a new generation"]
    assert said == [*expected, "CURRENT can be read again"]


def lose(index: Index, damage: str) -> None:
    if damage == "gone":
        (index.folder / CURRENT).unlink()
    else:
        index.store.write(CURRENT, b"{")


def test_a_failure_is_told_once_though_current_was_lost_meanwhile(index: Index, told: Told) -> None:
    async def scenario(coordinator: GenerationCoordinator) -> None:
        await sync(coordinator, -1, ONE)
        index.move(TWO)
        attempt = (await coordinator.reload()).attempt
        seen = (await sync(coordinator, -1, ONE, failed={TWO: "x"}, attempt=attempt)).version
        for state in (ReloadState.UNREADABLE, ReloadState.FAILED):
            if state is ReloadState.UNREADABLE:
                lose(index, "gone")
            else:
                index.move(TWO)
            directive = await sync(coordinator, seen, ONE, failed={TWO: "x"}, attempt=attempt)
            assert directive.reload.state is state
            seen = directive.version

    run(index, scenario, poll_s=0.02)
    assert told.reloads == ["swapped", "failed"]


def test_reload_without_current_is_refused_and_shows(index: Index, told: Told) -> None:
    async def scenario(coordinator: GenerationCoordinator) -> None:
        seen = (await sync(coordinator, -1, ONE)).version
        lose(index, "gone")
        waiting = asyncio.create_task(sync(coordinator, seen, ONE))
        with pytest.raises(IndexFormatError, match="no index here any more"):
            await coordinator.reload()
        assert (await waiting).reload.state is ReloadState.UNREADABLE

    run(index, scenario)
    assert told.is_readable == [True, False]


def test_drain_returns_when_the_front_has_come_to_its_end(index: Index, told: Told) -> None:
    async def scenario(coordinator: GenerationCoordinator) -> None:
        first = await sync(coordinator, -1, ONE)
        waiting = asyncio.create_task(sync(coordinator, first.version, ONE))
        draining = asyncio.create_task(coordinator.drain())
        directive = await waiting
        assert (directive.stage, directive.serving) == (Stage.DRAINING, ONE)
        await asyncio.sleep(0.05)
        assert not draining.done()
        await sync(coordinator, -1, ONE, is_drained=True)
        await draining

    run(index, scenario)
