"""A small evaluation of which a test names only what matters."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scp_ray.evaluation.evidence import evaluate_contexts
from scp_ray.evaluation.metrics import evaluate
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.evaluation.runs.record import AskedQuestion, EvaluationRun, FoundChunk
from scp_ray.retrieval.context import Context, Passage

MakeRun = Callable[..., EvaluationRun]


def _found(place: tuple[str, int, int]) -> FoundChunk:
    return FoundChunk(*place[:1], 3, *place[1:], 0.25, 0.61, 0.5, 0.7, 0.5)  # type: ignore[misc]


@pytest.fixture
def asked() -> Callable[..., AskedQuestion]:
    """Make a question with evidence at 100-200 of a.md, and results at the places given."""

    def make(
        query_id: str,
        *results: tuple[str, int, int],
        relevant: Sequence[tuple[str, int, int]] = (("a.md", 100, 200),),
        **values: Any,
    ) -> AskedQuestion:
        query = Query(query_id, f"What of {query_id}?", tuple(RelevantSpan(*s) for s in relevant))
        prior = {"prior_position": 0.4, "prior_concentration": 0.6, "is_prior_applied": True}
        defaults = {**prior, "lexical_weight": 0.5, "timings_ms": {"search": 2.0, "total": 3.0}}
        return AskedQuestion(query, tuple(map(_found, results)), **{**defaults, **values})

    return make


@pytest.fixture
def make_run(asked: Callable[..., AskedQuestion]) -> MakeRun:
    """Make an evaluation: q1 is found at once, q2 second, q3 not at all."""

    def make(*questions: AskedQuestion, budget: int = 0, **values: Any) -> EvaluationRun:
        if not questions:
            hit, miss = ("a.md", 100, 200), ("b.md", 0, 100)
            questions = (asked("q1", hit, miss), asked("q2", miss, hit), asked("q3", miss))
        queries = [one.query for one in questions]
        spans = {one.query.query_id: [found.span for found in one.results] for one in questions}
        passage = Passage("a.md", 150, 250, "x" * 100, (3,), 0.6)
        contexts = {query.query_id: Context(20, (passage,), ()) for query in queries}
        defaults: dict[str, Any] = {
            "index": "index/",
            "generation": 7,
            "encoder": "hash://32",
            "queries_file": "queries.jsonl",
            "settings": {"retrieval": {"min_index_gap": 2}, "rerank": {"model": None}},
            "budget": budget,
            "asked": questions,
            "ranking": evaluate(queries, spans),
            "evidence": evaluate_contexts(queries, contexts) if budget else None,
            "num_characters": {"a.md": 1000, "b.md": 100},
        }
        return EvaluationRun(**{**defaults, **values})

    return make
