"""One process's share of the generations that a service has open: opens, counts use, lets go."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, Protocol, TypeVar

from scp_ray.errors import NotReadyError, ScpRayError
from scp_ray.serve.generation_board import FRONT, PATIENCE_S, Directive, HolderReport, Stage
from scp_ray.serve.models import ReloadModel
from scp_ray.storage.publish import GenerationEntry

P = TypeVar("P")

_LOGGER = logging.getLogger("scp_ray.serve")
_PAUSE_S = 1.0


class Coordinator(Protocol):
    """The board in its own process."""

    async def sync(self, report: HolderReport, seen: int) -> Directive:
        """Report, and wait a while for a directive of another version than ``seen``."""
        ...


class GenerationHolder(Generic[P]):
    """Keeps open what the coordinator wants open.

    Threads may ask for ``part`` and ``parts``; all else belongs to one event loop.

    Args:
        name: Names this process.
        deployment: Whose replica it is.
        coordinator: Says what to open, to serve and to let go.
        open_part: Opens and tries this process's part of a generation, in a thread.

    Attributes:
        reload: Where the service is with the newest generation; None before ``start``.
        draining: Set once the fronts are to come to their end.
    """

    def __init__(
        self,
        name: str,
        deployment: str,
        coordinator: Coordinator,
        open_part: Callable[[GenerationEntry], P],
    ) -> None:
        self.reload: ReloadModel | None = None
        self.draining = asyncio.Event()
        self._name = name
        self._deployment = deployment
        self._coordinator = coordinator
        self._open_part = open_part
        self._parts: dict[GenerationEntry, P] = {}
        self._uses: dict[GenerationEntry, int] = {}
        self._failed: dict[GenerationEntry, str] = {}
        self._serving: GenerationEntry | None = None
        self._attempt = 0
        self._seen = -1
        self._num_reports = 0
        self._is_drained = False
        self._has_news = asyncio.Event()
        self._opening: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the first generation, and follow the coordinator from then on.

        Raises:
            ScpRayError: If the generation that is served, or the only one, cannot be opened.
        """
        directive = await self._sync()
        try:
            await self._open_first(directive.serving or directive.target)
        except ScpRayError:  # its files may be gone, and a newer one be there
            if directive.serving in {None, directive.target}:
                raise
            await self._open_first(directive.target)
        self._obey(await self._sync())
        self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Follow no longer."""
        for task in (self._following, self._opening):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def tell_drained(self) -> None:
        """Report that this front takes no more questions and has answered those that it had."""
        self._is_drained = True
        self._has_news.set()

    def part(self, entry: GenerationEntry) -> P:
        """Return this process's part of a generation.

        Raises:
            NotReadyError: If it is not open here.
        """
        try:
            return self._parts[entry]
        except KeyError as error:
            message = f"{self._name} has generation {entry.generation} not open"
            raise NotReadyError(message) from error

    @contextmanager
    def serving(self) -> Iterator[P]:
        """Lend the part of the generation that is served; it stays open everywhere meanwhile.

        Raises:
            NotReadyError: If no generation is open in every process yet.
        """
        entry = self._serving
        if entry is None:
            message = "no generation is open in every process of the service yet"
            raise NotReadyError(message)
        self._uses[entry] = self._uses.get(entry, 0) + 1
        try:
            yield self._parts[entry]
        finally:
            self._uses[entry] -= 1
            if not self._uses[entry]:
                del self._uses[entry]
                if entry != self._serving:
                    self._has_news.set()

    @property
    def parts(self) -> list[P]:
        """What is open here of each generation."""
        return list(self._parts.values())

    async def _follow(self) -> None:
        while True:
            try:
                self._obey(await self._next_directive())
            except Exception as error:  # noqa: BLE001 - the coordinator is restarted, in time
                _LOGGER.warning("%s: no word from the coordinator: %s", self._name, error)
                await asyncio.sleep(_PAUSE_S)

    async def _next_directive(self) -> Directive:
        """Wait for a new directive; what changes here meanwhile is reported at once."""
        while True:
            self._has_news.clear()
            syncing = asyncio.ensure_future(self._sync())
            noticing = asyncio.ensure_future(self._has_news.wait())
            try:
                await asyncio.wait(
                    {syncing, noticing}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED
                )
                if syncing.done():
                    return syncing.result()
            finally:
                for task in (syncing, noticing):
                    task.cancel()

    async def _sync(self) -> Directive:
        return await self._coordinator.sync(self._report(), self._seen)

    def _report(self) -> HolderReport:
        self._num_reports += 1
        in_use = {*self._uses, *([self._serving] if self._serving else [])}
        return HolderReport(
            self._name,
            self._deployment,
            frozenset(self._parts),
            frozenset(in_use) if self._deployment == FRONT else frozenset(),
            dict(self._failed),
            self._attempt,
            self._num_reports,
            self._is_drained,
        )

    def _obey(self, directive: Directive) -> None:
        self._seen = directive.version
        self.reload = directive.reload
        if directive.stage is not Stage.RUNNING:
            self.draining.set()
        if directive.attempt != self._attempt:
            self._attempt = directive.attempt
            self._failed.clear()
        if directive.serving in self._parts and directive.serving != self._serving:
            self._serving = directive.serving
        for entry in set(self._parts) - directive.keep - {self._serving, *self._uses}:
            del self._parts[entry]
        self._open_in_background(directive.serving)
        if directive.target in directive.keep:  # else it failed, and is not tried again yet
            self._open_in_background(directive.target)

    async def _open_first(self, entry: GenerationEntry) -> None:
        self._parts[entry] = await asyncio.to_thread(self._open_part, entry)

    def _open_in_background(self, entry: GenerationEntry | None) -> None:
        is_idle = self._opening is None or self._opening.done()
        if entry is not None and entry not in self._parts and entry not in self._failed and is_idle:
            self._opening = asyncio.create_task(self._open(entry))

    async def _open(self, entry: GenerationEntry) -> None:
        try:
            self._parts[entry] = await asyncio.to_thread(self._open_part, entry)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            _LOGGER.exception(
                "%s: generation %d not taken: %s", self._name, entry.generation, reason
            )
            self._failed[entry] = reason
        self._has_news.set()
