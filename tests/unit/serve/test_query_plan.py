"""What a request asks for, else what the settings say."""

from types import SimpleNamespace
from typing import Any

import pytest

from scp_ray.config import Settings, load_settings
from scp_ray.records import ChunkKey, ContextRule, Decision, DecisionReason, ScoredChunk, Selection
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.query_plan import QueryPlan, plan_query


def plan(
    *assignments: str, index_search: str = "hnsw", query: str | None = "how?", **asked: Any
) -> QueryPlan:
    settings: Settings = load_settings(None, assignments, {})
    manifest: Any = SimpleNamespace(settings={"index": {"search": index_search}})
    source = {"query": query} if query else {"embedding": [1.0]}
    return plan_query(QueryRequest(**source, **asked), manifest, settings)


def chunk(index: int) -> ScoredChunk:
    return ScoredChunk(ChunkKey("a", index), 0.5, 1.0 - index / 100, 0.0, 0.0, 0.0, index, 0)


RANKING = tuple(chunk(index) for index in range(40))
SELECTION = Selection(
    (Decision(RANKING[0], DecisionReason.KEPT),), exhausted=False, ranking=RANKING
)


def test_a_request_overrides_the_settings() -> None:
    assert plan("retrieval.lexical_weight=0.2").params.lexical_weight == 0.2
    assert plan("retrieval.lexical_weight=0.2", lexical_weight=0.9).params.lexical_weight == 0.9
    assert plan("context.max_tokens=50", max_context_tokens=0).max_context_tokens == 0


def test_an_exact_index_is_searched_exactly() -> None:
    assert plan(index_search="exact").params.exact
    assert not plan(index_search="exact", exact=False).params.exact


@pytest.mark.parametrize(
    ("assignments", "asked", "num_ranked"),
    [
        ([], {}, 0),
        (["context.candidates=30"], {"max_context_tokens": 100}, 30),
        ([], {"max_context_tokens": 100, "context_rule": "gap"}, 0),
        (["rerank.model=m", "rerank.candidates=7"], {"top_k": 3}, 7),
        (["rerank.model=m", "rerank.candidates=7"], {"top_k": 3, "min_index_gap": 2}, 9),
        (["rerank.model=m", "rerank.candidates=7"], {"top_k": 3, "max_context_tokens": 9}, 20),
        (["rerank.model=m", "rerank.candidates=40"], {"top_k": 3}, 40),
        (["rerank.model=m"], {"query": None}, 0),
    ],
)
def test_the_ranking_is_as_deep_as_what_reads_it(
    assignments: list[str], asked: dict[str, Any], num_ranked: int
) -> None:
    assert plan(*assignments, **asked).params.num_ranked == num_ranked


def test_the_context_is_made_of_what_its_rule_says() -> None:
    merged = plan("context.candidates=30", max_context_tokens=100)
    assert merged.context_chunks(SELECTION) == list(RANKING[:30])
    gap = plan(max_context_tokens=100, context_rule=ContextRule.GAP)
    assert plan("context.candidates=3", max_context_tokens=9).context_chunks(SELECTION) == list(
        RANKING[:3]
    )
    assert gap.context_chunks(SELECTION) == [RANKING[0]]
    assert plan().context_chunks(SELECTION) == []
