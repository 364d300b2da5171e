"""The same chunks in even and in uneven documents, through annotators over scripted engines.

The batches are those of the pipeline, and so are the calls in flight; the engines take virtual
seconds, so what is told is how well they are kept busy.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

from typing_extensions import override

from benchmarks.figures import rounded, say
from benchmarks.scripted_engine import ScriptedEngine, ServiceModel, scripted_answer
from benchmarks.virtual_time import VirtualClock
from scp_ray.annotators.llm import LlmAnnotator
from scp_ray.chop.prompting import all_go_on, decision_requests, extraction_request
from scp_ray.config import Settings, load_settings
from scp_ray.pipeline.plan import Locator
from scp_ray.pipeline.pools import ANNOTATE_POOL, ClusterShape, NodeShape, size_pools
from scp_ray.pipeline.processing import batch_documents
from scp_ray.protocols import GenerationRequest
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.testing import MemoryObjectStore

Batches = list[list[list[str]]]
_Result = TypeVar("_Result")
_FINGERPRINT = "0" * 64
_FLEETS = {1: "one_annotator", 4: "four_annotators"}
_CHUNK_BYTES = 700  # of a document, for each of its chunks


@dataclass(frozen=True, slots=True)
class Fleet:
    """The annotators of a run.

    Attributes:
        num_annotators: How many, each with an engine of its own.
        concurrent_calls: Batches that each has in flight.
        lookahead: See ``annotate_document``.
        piece_chunks: Longer documents are asked about in pieces of that, by all of them, before.
    """

    num_annotators: int
    concurrent_calls: int
    lookahead: int
    piece_chunks: int


def document_sizes(num_documents: int, num_chunks: int, *, is_skewed: bool) -> list[int]:
    """Return the chunks of each document, the longest first.

    Args:
        num_documents: Documents.
        num_chunks: Chunks of all.
        is_skewed: Whether the first holds half of them; they are of one size otherwise.
    """
    longest = [num_chunks // 2] if is_skewed else []
    rest, count = num_chunks - sum(longest), num_documents - len(longest)
    return longest + [rest // count + (number < rest % count) for number in range(count)]


def made_batches(sizes: Sequence[int], batch_documents: int) -> Batches:
    """Return documents of short texts, in batches; the same number always has the same text."""
    documents, first = [], 0
    for size in sizes:
        documents.append([f"text {number}" for number in range(first, first + size)])
        first += size
    return [
        documents[start : start + batch_documents]
        for start in range(0, len(documents), batch_documents)
    ]


def annotation_seconds(batches: Batches, fleet: Fleet, service: ServiceModel) -> dict[str, float]:
    """Annotate batches as the pipeline does; returns virtual seconds and requests.

    Returns:
        ``seconds``; ``ahead_s``, those of them for asking ahead; ``num_requests``; and ``busy``,
        the share of the seconds that the requests are the engines' work for.
    """
    clock = VirtualClock()
    engines: list[ScriptedEngine] = []
    store = MemoryObjectStore()

    def make_engine() -> ScriptedEngine:
        engines.append(ScriptedEngine(service))
        return engines[-1]

    def make_annotator() -> _ClockedAnnotator:
        cache = StoredAnnotationCache(store, _FINGERPRINT)
        return _ClockedAnnotator(
            make_engine, cache, lookahead=fleet.lookahead, document_fallback=True, max_calls=None
        )

    with _in_virtual_time(clock), clock.working():
        pieces = _pieces(batches, fleet)
        ahead_s = _spread(clock, make_annotator, fleet, LlmAnnotator.ask_ahead, pieces)
        annotate_s = _spread(clock, make_annotator, fleet, LlmAnnotator.annotate, batches)
    seconds = ahead_s + annotate_s
    num_requests = sum(engine.num_requests for engine in engines)
    worked_s = num_requests * service.share_s / fleet.num_annotators
    return {
        "seconds": seconds,
        "ahead_s": ahead_s,
        "num_requests": num_requests,
        "busy": worked_s / seconds,
    }


def measure_scripted(num_documents: int, num_chunks: int, service: ServiceModel) -> dict[str, Any]:
    """Annotate even and uneven documents with one and with four annotators.

    Returns:
        For each number of annotators the figures of ``annotation_seconds`` for documents of one
        ``even`` size, for one that holds half of all chunks (``skewed``), and for that with
        ``lookahead`` 1 (``no_lookahead``); the ``ratio`` of the second to the first and of the
        third to the first; and ``bare_ratio``, that of ``bare_seconds`` over all engines to the
        first.
    """
    figures: dict[str, Any] = {"documents": num_documents, "chunks": num_chunks}
    figures |= {"service": asdict(service)}
    batches = {
        is_skewed: _pipeline_batches(num_documents, num_chunks, is_skewed=is_skewed)
        for is_skewed in (False, True)
    }
    bare_s = bare_seconds(batches[False], service)
    for num_annotators, name in _FLEETS.items():
        fleet = _fleet(num_annotators)
        runs = {
            "even": annotation_seconds(batches[False], fleet, service),
            "skewed": annotation_seconds(batches[True], fleet, service),
            "no_lookahead": annotation_seconds(batches[True], replace(fleet, lookahead=1), service),
        }
        even_s = runs["even"]["seconds"]
        figures[name] = {
            **{run: {key: rounded(value) for key, value in of.items()} for run, of in runs.items()},
            "ratio": rounded(runs["skewed"]["seconds"] / even_s),
            "bare_ratio": rounded(bare_s / num_annotators / even_s),
            "no_lookahead_ratio": rounded(runs["no_lookahead"]["seconds"] / even_s),
        }
        ratios = f"skewed {figures[name]['ratio']}, bare engine {figures[name]['bare_ratio']}"
        say(f"{num_chunks} chunks, {name}, against even documents: {ratios}")
    return figures


def _fleet(num_annotators: int) -> Fleet:
    settings = load_settings(None, ["chop.annotator=openai"], {})
    pools = size_pools(settings, ClusterShape((NodeShape(num_annotators),)))
    calls = pools[ANNOTATE_POOL].concurrent_calls
    return Fleet(num_annotators, calls, settings.llm.lookahead, settings.llm.piece_chunks)


def _pipeline_batches(num_documents: int, num_chunks: int, *, is_skewed: bool) -> Batches:
    sizes = document_sizes(num_documents, num_chunks, is_skewed=is_skewed)
    locators = [Locator("", "", -1, size * _CHUNK_BYTES, "") for size in sizes]
    return made_batches(sizes, batch_documents(locators, Settings()))


def bare_seconds(batches: Batches, service: ServiceModel) -> float:
    """Return the virtual seconds of one engine that is given all requests at once."""
    requests = [
        request
        for batch in batches
        for document in batch
        for request in needed_requests(document, service)
    ]

    async def ask_all() -> float:
        engine = ScriptedEngine(service)
        await asyncio.gather(*map(engine.generate, requests))
        return asyncio.get_running_loop().time()

    loop = VirtualClock().new_event_loop()
    try:
        return loop.run_until_complete(ask_all())
    finally:
        loop.close()


def needed_requests(document: Sequence[str], service: ServiceModel) -> list[GenerationRequest]:
    """Return what annotating a document asks of a scripted engine."""
    requests = [extraction_request(document[0])]
    for chunk, next_chunk in pairwise(document):
        asked = decision_requests(chunk, next_chunk)
        requests += asked
        if not all_go_on(scripted_answer(one, service) for one in asked):
            requests.append(extraction_request(next_chunk))
    return requests


def _pieces(batches: Batches, fleet: Fleet) -> Batches:
    if fleet.num_annotators == 1:
        return []
    size = fleet.piece_chunks
    return [
        [document[start : start + size + 1]]
        for batch in batches
        for document in batch
        if len(document) > size
        for start in range(0, len(document) - 1, size)
    ]


def _spread(
    clock: VirtualClock,
    make_annotator: Callable[[], LlmAnnotator],
    fleet: Fleet,
    call: Callable[[LlmAnnotator, list[list[str]]], object],
    batches: Batches,
) -> float:
    """Let new annotators take batch after batch, so many at once; returns the seconds."""
    if not batches:
        return 0.0
    waiting = deque(batches)
    annotators = [make_annotator() for _ in range(fleet.num_annotators)]
    started, ends = clock.now, [clock.now]

    def take_batches(annotator: LlmAnnotator) -> None:
        try:
            while True:
                try:
                    batch = waiting.popleft()
                except IndexError:
                    return
                call(annotator, batch)
                ends.append(clock.now)
        finally:
            clock.end()

    threads = [
        threading.Thread(target=take_batches, args=[annotator])
        for _ in range(fleet.concurrent_calls)
        for annotator in annotators
    ]
    for thread in threads:
        clock.begin()
        thread.start()
    with clock.waiting():
        for thread in threads:
            thread.join()
    for annotator in annotators:
        annotator.close()
    return max(ends) - started


@contextmanager
def _in_virtual_time(clock: VirtualClock) -> Iterator[None]:
    before = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(clock)
    try:
        yield
    finally:
        asyncio.set_event_loop_policy(before)


class _ClockedAnnotator(LlmAnnotator):
    """Tells the clock which of its callers wait for an answer."""

    @override
    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        loop = self._loop
        if not hasattr(loop, "clock"):
            message = "the event loop of the annotator does not go by a virtual clock"
            raise TypeError(message)
        clock: VirtualClock = loop.clock
        future = asyncio.run_coroutine_threadsafe(work, loop)
        future.add_done_callback(lambda _done: clock.begin())
        clock.end()
        return future.result()
