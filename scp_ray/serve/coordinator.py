"""The one process of a service that looks for new generations, and says when to move to them."""

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any

from ray.serve.handle import DeploymentHandle

from scp_ray.config import Settings
from scp_ray.errors import IndexFormatError
from scp_ray.serve.access_log import start_logging
from scp_ray.serve.generation_board import (
    LIFETIME_S,
    WAIT_S,
    Directive,
    GenerationBoard,
    HolderReport,
    Stage,
)
from scp_ray.serve.metrics import ServeMetrics
from scp_ray.serve.models import ReloadModel, ReloadState
from scp_ray.serve.remote import answer_of
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import GenerationEntry, read_entry

_LOGGER = logging.getLogger("scp_ray.serve")
_FIRST_RETRY_S, _LAST_RETRY_S = 60.0, 3600.0


class GenerationCoordinator:
    """A Serve deployment of one replica around a ``GenerationBoard``.

    It keeps nothing: a restarted one learns from the next reports what is open where, and until
    then everybody goes on as before.
    """

    def __init__(
        self, index: str, first: GenerationEntry, settings: Settings, num_replicas: dict[str, int]
    ) -> None:
        start_logging()
        self._store = open_store(index)
        self._poll_s = settings.serve.poll_s
        self._metrics = ServeMetrics()
        self._board = GenerationBoard(first, num_replicas, LIFETIME_S)
        self._changed = asyncio.Event()
        self._has_looked = asyncio.Event()
        self._told_version: int | None = None
        self._told: tuple[ReloadState, int] | None = None
        self._lost: str | None = None
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        self._retrying = asyncio.get_running_loop().create_task(self._retry())

    async def sync(self, report: HolderReport, seen: int) -> Directive:
        """Take a report, and answer as soon as there is another directive than ``seen``."""
        await self._has_looked.wait()  # a restarted one was made with the generation of long ago
        self._board.report(report, time.monotonic())
        self._announce()
        if self._board.directive.version == seen:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), WAIT_S)
        return self._board.tell(report.holder)

    async def reload(self) -> Directive:
        """Look for a new generation now; one that failed is tried again.

        Raises:
            StorageError: If the index cannot be read.
            IndexFormatError: If it is not there any more, or ``CURRENT`` is malformed.
        """
        await self._look()
        self._board.retry(time.monotonic())
        self._announce()
        return self._board.directive

    async def drain(self) -> None:
        """Have the fronts come to their end, and return when all have."""
        self._board.drain(time.monotonic())
        self._announce()
        while self._board.directive.stage is not Stage.DRAINED:
            await self._changed.wait()

    async def _watch(self) -> None:
        while True:
            with suppress(Exception):  # it is told, and the next look may go well
                await self._look()
            self._has_looked.set()
            await asyncio.sleep(self._poll_s)

    async def _retry(self) -> None:
        pause_s = _FIRST_RETRY_S
        while True:
            await asyncio.sleep(pause_s)
            attempt = self._board.directive.attempt
            self._board.retry(time.monotonic())
            has_failed = self._board.directive.attempt != attempt
            pause_s = min(2 * pause_s, _LAST_RETRY_S) if has_failed else _FIRST_RETRY_S
            self._announce()

    async def _look(self) -> None:
        try:
            entry = await asyncio.to_thread(self._current)
        except Exception as error:
            self._board.lose(f"{type(error).__name__}: {error}", time.monotonic())
            self._announce()
            raise
        self._board.offer(entry, time.monotonic())
        self._announce()

    def _current(self) -> GenerationEntry:
        entry = read_entry(self._store)
        if entry is None:
            message = f"{self._store.url}: no index here any more; the service goes on as it is"
            raise IndexFormatError(message)
        return entry

    def _announce(self) -> None:
        """Wake who waits if the directive is another one, and tell of a reload's end once."""
        directive = self._board.directive
        if self._told_version == directive.version:
            return
        self._told_version = directive.version
        self._changed.set()
        self._changed = asyncio.Event()
        if directive.serving is not None:
            self._metrics.serving(directive.serving.generation)
        self._tell_of_current(directive.reload)
        self._tell_of_reload(directive)

    def _tell_of_current(self, reload: ReloadModel) -> None:
        lost = reload.reason if reload.state is ReloadState.UNREADABLE else None
        self._metrics.current(is_readable=lost is None)
        if lost is not None and lost != self._lost:
            _LOGGER.error("cannot look for a new generation: %s", lost)
        elif lost is None and self._lost is not None:
            _LOGGER.info("CURRENT can be read again")
        self._lost = lost

    def _tell_of_reload(self, directive: Directive) -> None:
        reload = directive.reload
        is_taken = directive.serving == directive.target
        state = ReloadState.CURRENT if is_taken else reload.state
        told = (state, reload.generation)
        if state is ReloadState.UNREADABLE or told == self._told:
            return
        self._told = told
        if state is ReloadState.CURRENT:
            _LOGGER.info("serving generation %d", reload.generation)
            self._metrics.reloaded("swapped")
        elif state is ReloadState.FAILED:
            _LOGGER.error("generation %d not taken: %s", reload.generation, reload.reason)
            self._metrics.reloaded("failed")


class CoordinatorHandle:
    """The coordinator as other processes reach it."""

    def __init__(self, handle: "DeploymentHandle[Any]") -> None:
        self._handle = handle

    async def sync(self, report: HolderReport, seen: int) -> Directive:
        """See ``GenerationCoordinator.sync``."""
        directive: Directive = await answer_of(self._handle.sync.remote(report, seen))
        return directive

    async def reload(self) -> Directive:
        """See ``GenerationCoordinator.reload``."""
        directive: Directive = await answer_of(self._handle.reload.remote())
        return directive
