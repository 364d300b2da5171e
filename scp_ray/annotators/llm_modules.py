"""CHOP's two modules over a language model: ask, check, ask again, fall back, remember.

An answer is checked always: engines that promise structured output have been seen to run on or to
leave it off. What was answered usably is kept in the annotation cache; what was not is asked once
by an actor, and again when its document is done again.
"""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from scp_ray.annotators.heuristic import chunk_signature
from scp_ray.chop.grounding import grounded
from scp_ray.chop.parsing import parse_cnm
from scp_ray.chop.prompting import (
    decision_requests,
    extraction_request,
    may_be_product,
    parse_decision,
    title_request,
)
from scp_ray.errors import (
    AnnotationError,
    CallLimitError,
    EngineDeadError,
    GenerationError,
    ModelUnreachableError,
    RequestRefusedError,
)
from scp_ray.protocols import AnnotationCache, GenerationRequest, TextGenerator
from scp_ray.records import AnnotationUsage, Cnm

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

_MAX_ATTEMPTS = 3  # of a request whose answer cannot be used
_MAX_UNANSWERED = 50  # requests in a row: then it is the model, not a document
_KEY_BYTES = 16
_DECISION, _EXTRACTION = b"continuity", b"extraction"


def decision_questions(chunk: str, next_chunk: str) -> dict[bytes, GenerationRequest]:
    """Return what a continuity decision asks, by the cache key of each answer, 16 bytes."""
    return dict(map(_question, decision_requests(chunk, next_chunk)))


def name_question(name: str) -> tuple[bytes, GenerationRequest]:
    """Return what is asked of the model that a signature names, and the key of the answer."""
    return _question(title_request(name))


def _question(request: GenerationRequest) -> tuple[bytes, GenerationRequest]:
    return _key(_DECISION, request.content), request


def extraction_key(chunk: str) -> bytes:
    """Return the cache key of an extraction, 16 bytes."""
    return _key(_EXTRACTION, chunk)


def answer_keys(chunks: Sequence[str]) -> Iterator[bytes]:
    """Yield the keys of everything that may be asked about the chunks of a document."""
    yield from (extraction_key(chunk) for chunk in chunks)
    for pair in pairwise(chunks):
        yield from decision_questions(*pair)


def _key(kind: bytes, text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    length = len(data).to_bytes(8, "big")
    return hashlib.sha256(b"".join((kind, length, data))).digest()[:_KEY_BYTES]


class CallLimit:
    """Counts the calls of a language model that may still be made; None = any number."""

    def __init__(self, num_calls: int | None) -> None:
        """Set the number."""
        self._left = num_calls

    def take(self) -> None:
        """Count one call.

        Raises:
            CallLimitError: If there is none left.
        """
        if self._left is None:
            return
        if self._left == 0:
            message = (
                "the calls of a language model that this run may make are used up; what was "
                "annotated is kept, and a run with a higher --max-llm-calls goes on from there"
            )
            raise CallLimitError(message)
        self._left -= 1


class Answers:
    """Answers of a language model, each paid for once. All documents of an actor share one.

    Belongs to one event loop.
    """

    def __init__(self, generator: TextGenerator, cache: AnnotationCache, limit: CallLimit) -> None:
        """Take the model, what it answered before, and how often it may be asked."""
        self._generator = generator
        self._cache = cache
        self._limit = limit
        self._pending: dict[bytes, asyncio.Event] = {}
        self._unusable: set[bytes] = set()
        self._unanswered = Counter[bytes]()
        self._num_asking = 0
        self._nobody_asks = asyncio.Event()

    async def answer(
        self,
        key: bytes,
        request: GenerationRequest,
        parse: Callable[[str], _Answer],
        counts: Counter[str],
    ) -> _Answer | None:
        """Return a usable answer from the cache or from the model, None if it gives none.

        Args:
            key: Names the request in the cache.
            request: Asked if there is no answer yet.
            parse: Reads an answer; its AnnotationError says that it cannot be used.
            counts: Counts what was taken, by the names of ``AnnotationUsage``.

        Raises:
            GenerationError: If the model does not answer.
            CallLimitError: If it may not be asked.
        """
        while key in self._pending:  # another document asks the same just now
            await self._pending[key].wait()
        if key in self._unusable:
            counts["fallbacks"] += 1
            return None
        known = self._known(key, parse)
        if known is not None:
            counts["cache_hits"] += 1
            return known
        self._pending[key] = answered = asyncio.Event()
        try:
            usable = await self._usable(request, parse, counts)
        finally:
            del self._pending[key]
            answered.set()
        if usable is None:
            self._unusable.add(key)
            counts["fallbacks"] += 1
            return None
        text, answer = usable
        self._cache.put(key, text)
        return answer

    def _known(self, key: bytes, parse: Callable[[str], _Answer]) -> _Answer | None:
        """Return what was answered before, if it is an answer by today's rules."""
        text = self._cache.get(key)
        try:
            return None if text is None else parse(text)
        except AnnotationError:
            return None

    async def _usable(
        self, request: GenerationRequest, parse: Callable[[str], _Answer], counts: Counter[str]
    ) -> tuple[str, _Answer] | None:
        """Ask until an answer can be used; return its text, and what it says."""
        for attempt in range(_MAX_ATTEMPTS):
            counts["retries"] += bool(attempt)
            try:
                text = await self._ask(request, counts)
                return text, parse(text)
            except AnnotationError as error:
                _log.info("an answer cannot be used: %s", error)
            except RequestRefusedError as error:
                _log.warning("a request was refused: %s", error)
                return None
        return None

    async def _ask(self, request: GenerationRequest, counts: Counter[str]) -> str:
        await self._take_call()
        counts["llm_calls"] += 1
        self._num_asking += 1
        try:
            generation = await self._generator.generate(request)
        except EngineDeadError:
            raise
        except GenerationError as error:
            self._count_unanswered(request, error)
            raise
        finally:
            self._num_asking -= 1
            if not self._num_asking:
                self._nobody_asks.set()
        self._unanswered[_kind(request)] = 0
        counts["prompt_tokens"] += generation.prompt_tokens
        counts["cached_prompt_tokens"] += generation.cached_prompt_tokens
        counts["output_tokens"] += generation.output_tokens
        # Half of a surrogate pair, as of an emoji that was cut, cannot be written to the cache.
        return generation.text.encode("utf-8", "replace").decode()

    def _count_unanswered(self, request: GenerationRequest, error: GenerationError) -> None:
        """Stop where no request of a kind is answered: it is the server then, not a document."""
        self._unanswered[_kind(request)] += 1
        num_in_a_row = self._unanswered[_kind(request)]
        if num_in_a_row >= _MAX_UNANSWERED:
            message = f"{num_in_a_row} requests in a row were not answered: {error}"
            raise ModelUnreachableError(message) from error

    async def _take_call(self) -> None:
        """Count a call; where there is none left, let those come back that were paid."""
        try:
            self._limit.take()
        except CallLimitError:
            if self._num_asking:
                self._nobody_asks.clear()
                await self._nobody_asks.wait()
            raise


@asynccontextmanager
async def flushed_regularly(cache: AnnotationCache, period_s: float) -> AsyncIterator[None]:
    """Flush a cache every ``period_s`` seconds until the block ends: a crash loses no more.

    What came after the last flush is left to the caller.
    """
    flushing = asyncio.create_task(_flush_regularly(cache, period_s))
    try:
        yield
    finally:
        flushing.cancel()
        with suppress(asyncio.CancelledError):
            await flushing


async def _flush_regularly(cache: AnnotationCache, period_s: float) -> None:
    while True:
        await asyncio.sleep(period_s)
        await asyncio.to_thread(cache.flush)


def _kind(request: GenerationRequest) -> bytes:
    return _DECISION if request.choices else _EXTRACTION


class LlmModules:
    """CNM-Extractor and Continuity Decision Module for one document.

    What has no usable answer falls back: a decision to going on, an extraction to the heuristic
    annotator's signature of the chunk.
    """

    def __init__(self, answers: Answers) -> None:
        """Take what the documents share."""
        self._answers = answers
        self._counts: Counter[str] = Counter()

    @property
    def usage(self) -> AnnotationUsage:
        """What was taken so far."""
        return AnnotationUsage(**self._counts)

    async def decide_continuity(self, chunk: str, next_chunk: str) -> bool:
        """Ask what ``decision_requests`` asks; all answers must say that ``next_chunk`` goes on.

        One after the other, so that a document has no more requests waiting than decisions.

        Raises:
            GenerationError: If the model does not answer.
        """
        self._counts["decisions"] += 1
        questions = decision_questions(chunk, next_chunk)
        return all([await self._goes_on(*question) for question in questions.items()])

    async def _goes_on(self, key: bytes, request: GenerationRequest) -> bool:
        answer = await self._answers.answer(key, request, parse_decision, self._counts)
        return True if answer is None else answer

    async def extract_cnm(self, chunk: str) -> Cnm:
        """Ask for the signature of a chunk, and whether its model is the name of a product.

        Raises:
            GenerationError: If the model does not answer.
        """
        self._counts["extractions"] += 1
        key, request = extraction_key(chunk), extraction_request(chunk)
        answer = await self._answers.answer(key, request, parse_cnm, self._counts)
        if answer is None:
            return chunk_signature(chunk)
        cnm = grounded(answer, chunk)
        if cnm.model is None or await self._may_be_product(cnm.model):
            return cnm
        return replace(cnm, model=None)

    async def _may_be_product(self, name: str) -> bool:
        key, request = name_question(name)
        answer = await self._answers.answer(key, request, may_be_product, self._counts)
        return True if answer is None else answer
