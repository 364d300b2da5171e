"""CHOP with a language model: many documents at once, each folded in the order of its chunks."""

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from scp_ray.annotators.llm_modules import Answers, CallLimit, LlmModules, flushed_regularly
from scp_ray.chop.annotate import annotate_document, ask_pairs
from scp_ray.chop.together import all_together
from scp_ray.errors import EngineDeadError, GenerationError, ModelUnreachableError
from scp_ray.protocols import AnnotationCache, TextGenerator
from scp_ray.records import NO_USAGE, ActivePeriod, AnnotatedDocument, AnnotationUsage

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")

FLUSH_S = 10.0
"""Seconds between two flushes of the cache: what a crash may lose of paid answers."""


class LlmAnnotator:
    """An ``Annotator`` over a language model.

    Its requests run on an event loop in a thread of its own; ``annotate`` may be called by several
    threads at once, and what they ask is in flight together.
    """

    def __init__(
        self,
        make_generator: Callable[[], TextGenerator],
        cache: AnnotationCache,
        *,
        lookahead: int,
        document_fallback: bool,
        max_calls: int | None,
    ) -> None:
        """Start the model.

        Args:
            make_generator: Makes it; called on the event loop.
            cache: Answers that were paid for before.
            lookahead: See ``annotate_document``.
            document_fallback: See ``fold``.
            max_calls: Calls that may be made; None = any number.

        Raises:
            ConfigError: If the model cannot be had as the settings say.
            GenerationError: If it does not start.
        """
        self._lookahead = lookahead
        self._document_fallback = document_fallback
        self._cache = cache
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._num_waiting = 0  # calls of ``annotate`` that have not returned
        self._turn = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="scp-ray-annotator", daemon=True
        )
        self._thread.start()
        try:
            self._generator = self._run(_made(make_generator))
        except BaseException:
            self._end_loop()
            raise
        self._answers = Answers(self._generator, cache, CallLimit(max_calls))
        self._open = AsyncExitStack()
        self._open.push_async_callback(self._generator.close)
        self._run(self._open.enter_async_context(flushed_regularly(cache, FLUSH_S)))

    def annotate(self, documents: Sequence[Sequence[str]]) -> list[AnnotatedDocument]:
        """Annotate the chunks of each document, all at once.

        Raises:
            EngineDeadError, ModelUnreachableError, CallLimitError: As the port says; answers that
                came before are kept.
        """
        with self._flushed():
            return self._run(all_together(self._annotate_one(chunks) for chunks in documents))

    def ask_ahead(self, pieces: Sequence[Sequence[str]]) -> AnnotationUsage:
        """Get what the pairs of pieces need into the cache, all at once.

        Raises:
            EngineDeadError, ModelUnreachableError, CallLimitError: As the port says.
        """
        with self._flushed():
            usages = self._run(all_together(self._ask_one(chunks) for chunks in pieces))
        return sum(usages, NO_USAGE)

    def close(self) -> None:
        """End the model and the thread; no call may follow."""
        try:
            self._run(self._open.aclose())
        finally:
            self._end_loop()

    def _end_loop(self) -> None:
        self._run(self._loop.shutdown_default_executor())  # a flush may be on its way
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @contextmanager
    def _flushed(self) -> Iterator[None]:
        """Flush the cache when no other call is left, or one fails: the actor may end then."""
        with self._turn:
            self._num_waiting += 1
        has_failed = True
        try:
            yield
            has_failed = False
        finally:
            with self._turn:
                self._num_waiting -= 1
                is_idle = not self._num_waiting
            if is_idle or has_failed:
                self._cache.flush()

    async def _ask_one(self, chunks: Sequence[str]) -> AnnotationUsage:
        modules = LlmModules(self._answers)
        try:
            await ask_pairs(chunks, modules, modules, lookahead=self._lookahead)
        except (EngineDeadError, ModelUnreachableError):
            raise
        except GenerationError as error:
            _log.warning("a piece of a document is left to its annotator: %s", error)
        return modules.usage

    async def _annotate_one(self, chunks: Sequence[str]) -> AnnotatedDocument:
        began, started = time.time(), time.monotonic()
        document = await self._annotated(chunks)
        ended = began + time.monotonic() - started  # clocks of the day may be set back
        return replace(document, active=ActivePeriod(self._name, began, ended))

    async def _annotated(self, chunks: Sequence[str]) -> AnnotatedDocument:
        modules = LlmModules(self._answers)
        try:
            annotations = await annotate_document(
                chunks,
                modules,
                modules,
                lookahead=self._lookahead,
                document_fallback=self._document_fallback,
            )
        except (EngineDeadError, ModelUnreachableError):
            raise
        except GenerationError as error:
            return AnnotatedDocument([], modules.usage, failure=str(error))
        return AnnotatedDocument(annotations, modules.usage)


async def _made(make_generator: Callable[[], TextGenerator]) -> TextGenerator:
    return make_generator()
