"""CHOP's state machine over the chunks of one document.

A continuity decision needs only its pair of chunks and an extraction only its chunk; neither sees
the state of the fold. So the work is cut into steps that can be done in any order and ahead of
each other: decisions for the pairs, ``span_starts``, one CNM for each start, and ``fold``, which
alone runs in chunk order.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scp_ray.errors import AnnotationError
from scp_ray.protocols import CnmExtractor, ContinuityDecider
from scp_ray.records import ChunkAnnotation, Cnm

PAIRS_PER_WINDOW = 512
"""Pairs of a document that share one window of decisions asked ahead."""


async def annotate_document(
    chunks: Sequence[str],
    extractor: CnmExtractor,
    decider: ContinuityDecider,
    *,
    lookahead: int,
    document_fallback: bool,
) -> list[ChunkAnnotation]:
    """Annotate the chunks of one document.

    Decisions are asked in chunk order, and the signature of a span as soon as its start is known;
    the answers may come in any order.

    Args:
        chunks: Texts in chunk order; may be empty.
        extractor: Called once for each span, with its first chunk.
        decider: Called once for each pair of neighbours.
        lookahead: Most decisions that wait at once, >= 1, for every ``PAIRS_PER_WINDOW`` pairs of
            the document or part of that: a long one would hold up the rest otherwise. The result
            does not depend on it.
        document_fallback: See ``fold``.

    Returns:
        One annotation a chunk, in chunk order; the first starts a span.

    Raises:
        ScpRayError: What the extractor or the decider raised first; the other calls are cancelled.

    Source: CHOP; asking ahead is our choice, and free since no prompt sees the fold's state.
    """
    if not chunks:
        return []
    try:
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(extractor.extract_cnm(chunks[0]))
            pairs = tasks.create_task(ask_pairs(chunks, extractor, decider, lookahead=lookahead))
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    decisions, cnms = pairs.result()
    cnms[0] = first.result()
    return fold(decisions, cnms, document_fallback=document_fallback)


async def ask_pairs(
    chunks: Sequence[str],
    extractor: CnmExtractor,
    decider: ContinuityDecider,
    *,
    lookahead: int,
) -> tuple[list[bool], dict[int, Cnm]]:
    """Ask all that the pairs of some neighbouring chunks need: no more than the first lacks.

    Args:
        chunks: A document or a piece of one, in chunk order.
        extractor: See ``annotate_document``.
        decider: See ``annotate_document``.
        lookahead: See ``annotate_document``.

    Returns:
        The decision of each pair, and the CNMs of the spans that start within, by index.

    Raises:
        ScpRayError: As ``annotate_document``.
    """
    decisions = [True] * max(len(chunks) - 1, 0)
    windows = -(-len(decisions) // PAIRS_PER_WINDOW)
    free = asyncio.Semaphore(lookahead * max(windows, 1))
    cnms: dict[int, Cnm] = {}

    async def decide(pair: int) -> None:
        try:
            decisions[pair] = await decider.decide_continuity(chunks[pair], chunks[pair + 1])
        finally:
            free.release()
        if not decisions[pair]:
            cnms[pair + 1] = await extractor.extract_cnm(chunks[pair + 1])

    try:
        async with asyncio.TaskGroup() as tasks:
            for pair in range(len(decisions)):
                await free.acquire()
                tasks.create_task(decide(pair))
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    return decisions, cnms


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure


def span_starts(decisions: Sequence[bool]) -> list[int]:
    """Return the chunk indexes that start a span, ascending: 0, and i + 1 for each FALSE at i.

    Args:
        decisions: ``decisions[i]`` says whether chunk i + 1 goes on with the subject of chunk i.
    """
    return [0, *(index for index, continues in enumerate(decisions, start=1) if not continues)]


def fold(
    decisions: Sequence[bool],
    cnms_by_start: Mapping[int, Cnm],
    *,
    document_fallback: bool,
) -> list[ChunkAnnotation]:
    """Give each chunk the signature in force: TRUE inherits, FALSE takes the new span's own.

    Args:
        decisions: One for each pair of neighbours, so one less than there are chunks.
        cnms_by_start: The CNM of the first chunk of each span, by chunk index.
        document_fallback: Whether category and model that a new span leaves missing are taken
            from the document's first span. A category is taken only where the model is the first
            span's too: the category of one product says nothing of another. Nouns are never
            taken, for they describe their own span.

    Returns:
        One annotation a chunk, in chunk order.

    Raises:
        AnnotationError: If a span has no CNM.

    Source: CHOP, Continuity Decision Module: TRUE: M_i+1 = M_i; FALSE: M_i+1 = CNM(C_i+1). The
    fallback is our choice.
    """
    signatures = _span_signatures(decisions, cnms_by_start, document_fallback=document_fallback)
    annotations: list[ChunkAnnotation] = []
    current = signatures[0]
    for chunk_index in range(len(decisions) + 1):
        current = signatures.get(chunk_index, current)
        annotations.append(ChunkAnnotation(current, starts_span=chunk_index in signatures))
    return annotations


def _span_signatures(
    decisions: Sequence[bool], cnms_by_start: Mapping[int, Cnm], *, document_fallback: bool
) -> dict[int, Cnm]:
    signatures: dict[int, Cnm] = {}
    for start in span_starts(decisions):
        if start not in cnms_by_start:
            message = f"chunk {start} starts a span but has no CNM"
            raise AnnotationError(message)
        own = cnms_by_start[start]
        first = signatures.get(0, own)
        signatures[start] = _completed(own, first) if document_fallback else own
    return signatures


def _completed(own: Cnm, first: Cnm) -> Cnm:
    model = own.model or first.model
    if own.category is None and model == first.model:
        return replace(own, model=model, category=first.category)
    return replace(own, model=model)
