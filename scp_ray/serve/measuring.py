"""Asks an index every question of a query file and scores what comes back."""

from collections.abc import Callable, Sequence

from scp_ray.evaluation.metrics import CUTOFF, EvaluationReport, evaluate
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import HitSpan
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher

_PROGRESS_EVERY = 50


def measure_searcher(
    searcher: LocalSearcher, queries: Sequence[Query], progress: Callable[[str], None]
) -> EvaluationReport:
    """Return the metrics of an index, ten results a question.

    Args:
        searcher: The open index.
        queries: Questions with their evidence.
        progress: Told a line every fifty questions.

    Raises:
        QueriesFormatError: If a question has no evidence.
        ConfigError: If a question cannot be asked of this index.
    """
    replies: dict[str, list[HitSpan]] = {}
    for number, query in enumerate(queries, 1):
        results = searcher.answer(QueryRequest(query=query.query, top_k=CUTOFF)).results
        replies[query.query_id] = [
            HitSpan(result.doc_id, result.char_start, result.char_end) for result in results
        ]
        if number % _PROGRESS_EVERY == 0:
            progress(f"asked {number}/{len(queries)} questions")
    return evaluate(queries, replies)
