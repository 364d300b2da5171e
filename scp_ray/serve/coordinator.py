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
)
from scp_ray.serve.metrics import ServeMetrics
from scp_ray.serve.models import ReloadState
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
        self._told: tuple[int, ReloadState, int] | None = None
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

    async def _watch(self) -> None:
        while True:
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - the next look may go well
                _LOGGER.warning("cannot look for a new generation: %s", error)
            finally:
                self._has_looked.set()
            await asyncio.sleep(self._poll_s)

    async def _retry(self) -> None:
        pause_s = _FIRST_RETRY_S
        while True:
            await asyncio.sleep(pause_s)
            has_failed = self._board.directive.reload.state is ReloadState.FAILED
            pause_s = min(2 * pause_s, _LAST_RETRY_S) if has_failed else _FIRST_RETRY_S
            self._board.retry(time.monotonic())
            self._announce()

    async def _look(self) -> None:
        entry = await asyncio.to_thread(read_entry, self._store)
        if entry is None:
            message = f"{self._store.url}: no index here any more; the service goes on as it is"
            raise IndexFormatError(message)
        self._board.offer(entry, time.monotonic())
        self._announce()

    def _announce(self) -> None:
        """Wake who waits if the directive is another one, and tell of a reload's end once."""
        directive = self._board.directive
        if self._told is not None and self._told[0] == directive.version:
            return
        before, reload = self._told, directive.reload
        self._told = (directive.version, reload.state, reload.generation)
        self._changed.set()
        self._changed = asyncio.Event()
        if directive.serving is not None:
            self._metrics.serving(directive.serving.generation)
        if before is not None and before[1:] == self._told[1:]:
            return
        if reload.state is ReloadState.CURRENT:
            _LOGGER.info("serving generation %d", reload.generation)
            self._metrics.reloaded("swapped")
        elif reload.state is ReloadState.FAILED:
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
