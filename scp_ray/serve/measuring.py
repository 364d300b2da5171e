"""Asks an index every question of a query file and scores what comes back."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from scp_ray.evaluation.evidence import EvidenceReport, evaluate_contexts
from scp_ray.evaluation.metrics import CUTOFF, EvaluationReport, evaluate
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import HitSpan
from scp_ray.retrieval.context import Context, Passage
from scp_ray.serve.models import ContextModel, QueryReply, QueryRequest
from scp_ray.serve.searcher import LocalSearcher

_PROGRESS_EVERY = 50


class Measured(NamedTuple):
    """How one index did.

    Attributes:
        ranking: Metrics of the results, ten a question.
        evidence: What the contexts held; None without a budget.
    """

    ranking: EvaluationReport
    evidence: EvidenceReport | None


def measure_searcher(
    searcher: LocalSearcher,
    queries: Sequence[Query],
    progress: Callable[[str], None],
    *,
    budget: int = 0,
) -> Measured:
    """Ask every question for ten results, and for a context where there is a budget.

    Args:
        searcher: The open index.
        queries: Questions with their evidence.
        progress: Told a line every fifty questions.
        budget: Most tokens of a context; 0 = no contexts.

    Raises:
        QueriesFormatError: If a question has no evidence.
        ConfigError: If a question cannot be asked of this index.
    """
    replies: dict[str, QueryReply] = {}
    for number, query in enumerate(queries, 1):
        request = QueryRequest.checked(
            {"query": query.query, "top_k": CUTOFF, "max_context_tokens": budget}
        )
        replies[query.query_id] = searcher.answer(request)
        if number % _PROGRESS_EVERY == 0:
            progress(f"asked {number}/{len(queries)} questions")
    spans = {name: _spans(reply) for name, reply in replies.items()}
    contexts = {name: _context(reply.context) for name, reply in replies.items() if reply.context}
    evidence = evaluate_contexts(queries, contexts) if budget else None
    return Measured(evaluate(queries, spans), evidence)


def _spans(reply: QueryReply) -> list[HitSpan]:
    return [HitSpan(result.doc_id, result.char_start, result.char_end) for result in reply.results]


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
