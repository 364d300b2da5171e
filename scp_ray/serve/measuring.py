"""Asks an index every question of a query file and scores what comes back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scp_ray.evaluation.evidence import EvidenceReport, evaluate_contexts
from scp_ray.evaluation.metrics import CUTOFF, EvaluationReport, evaluate
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.runs.record import AskedQuestion, FoundChunk
from scp_ray.retrieval.context import Context, Passage
from scp_ray.serve.models import ContextModel, QueryReply, QueryRequest, ResultModel
from scp_ray.serve.searcher import LocalSearcher

_PROGRESS_EVERY = 50


class Measured(NamedTuple):
    """How one index did.

    Attributes:
        ranking: Metrics of the results, ten a question.
        evidence: What the contexts held; None without a budget.
        asked: Every question with its results, in the order of the file.
    """

    ranking: EvaluationReport
    evidence: EvidenceReport | None
    asked: tuple[AskedQuestion, ...]


def measure_searcher(
    searcher: LocalSearcher,
    queries: Sequence[Query],
    progress: Callable[[str], None],
    *,
    budget: int = 0,
    changes: Mapping[str, float] | None = None,
) -> Measured:
    """Ask every question for ten results, and for a context where there is a budget.

    Args:
        searcher: The open index.
        queries: Questions with their evidence.
        progress: Told a line every fifty questions.
        budget: Most tokens of a context; 0 = no contexts.
        changes: Settings of each question that are not as in the searcher's settings, by their
            names in ``QueryRequest``.

    Raises:
        QueriesFormatError: If a question has no evidence.
        ConfigError: If a question cannot be asked of this index.
    """
    asked: list[AskedQuestion] = []
    contexts: dict[str, Context] = {}
    values = {"top_k": CUTOFF, "max_context_tokens": budget, **(changes or {})}
    for query, reply in ask_all(searcher, queries, progress, **values):
        asked.append(_asked(query, reply))
        if reply.context is not None:
            contexts[query.query_id] = _context(reply.context)
    spans = {one.query.query_id: [found.span for found in one.results] for one in asked}
    evidence = evaluate_contexts(queries, contexts) if budget else None
    return Measured(evaluate(queries, spans), evidence, tuple(asked))


def ask_all(
    searcher: LocalSearcher,
    queries: Sequence[Query],
    progress: Callable[[str], None],
    **values: float,
) -> Iterator[tuple[Query, QueryReply]]:
    """Ask every question of a query file, and yield it with its reply, in the order of the file.

    Args:
        searcher: The open index.
        queries: The questions.
        progress: Told a line every fifty questions.
        values: What each question asks for, by the names of ``QueryRequest``.

    Raises:
        ConfigError: If a question cannot be asked of this index.
    """
    for number, query in enumerate(queries, 1):
        yield query, searcher.answer(QueryRequest.checked({"query": query.query, **values}))
        if number % _PROGRESS_EVERY == 0:
            progress(f"asked {number}/{len(queries)} questions")


def found_chunk(result: ResultModel) -> FoundChunk:
    """Return a result as evaluations record it."""
    return FoundChunk(
        result.doc_id,
        result.chunk_index,
        result.char_start,
        result.char_end,
        result.position,
        result.score,
        result.semantic_score,
        result.lexical_score,
        result.position_score,
    )


def _asked(query: Query, reply: QueryReply) -> AskedQuestion:
    return AskedQuestion(
        query,
        tuple(found_chunk(result) for result in reply.results),
        reply.prior.position,
        reply.prior.concentration,
        reply.prior.applied,
        reply.lexical.weight,
        reply.timings_ms,
    )


def _context(context: ContextModel) -> Context:
    passages = [
        Passage(
            passage.doc_id,
            passage.char_start,
            passage.char_end,
            passage.text,
            tuple(passage.chunk_indexes),
            passage.score,
        )
        for passage in context.passages
    ]
    return Context(context.tokens, tuple(passages), ())
