"""Bounds and order of the metrics, whatever is found."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.evaluation.metrics import HIT_RANKS, evaluate, ndcg
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import HitSpan, RelevantSpan


@st.composite
def _places(draw: st.DrawFn) -> tuple[str, int, int]:
    start = draw(st.integers(0, 400))
    return draw(st.sampled_from("ab")), start, start + draw(st.integers(1, 300))


hit_lists = st.lists(_places().map(lambda place: HitSpan(*place)), max_size=14)
span_lists = st.lists(_places().map(lambda place: RelevantSpan(*place)), min_size=1, max_size=12)


@given(hit_lists, span_lists)
def test_bounds_and_order(hits: list[HitSpan], spans: list[RelevantSpan]) -> None:
    report = evaluate([Query("q", "?", tuple(spans))], {"q": hits})
    values = {name: column[0] for name, column in report.values().items()}
    rates = [values[f"hit@{k}"] for k in HIT_RANKS]
    mrr, ndcg_at_10 = values["mrr@10"], values["ndcg@10"]
    assert rates == sorted(rates)
    assert rates[0] <= mrr <= rates[-1]
    assert (mrr > 0) == (rates[-1] == 1)
    assert ndcg_at_10 > 0 or mrr == 0
    assert values["doc@1"] >= rates[0]
    assert (values["map@10"] > 0) == (mrr > 0)
    shares = [value for name, value in values.items() if not name.startswith("documents@")]
    assert all(0.0 <= value <= 1.0 for value in shares)
    assert values["coverage@5"] <= values["coverage@10"]
    assert (values["coverage@10"] > 0) == (rates[-1] == 1)


@given(hit_lists, span_lists)
def test_hits_after_the_tenth_count_nowhere(hits: list[HitSpan], spans: list[RelevantSpan]) -> None:
    queries = [Query("q", "?", tuple(spans))]
    assert evaluate(queries, {"q": hits}) == evaluate(queries, {"q": hits[:10]})


@given(hit_lists, span_lists, st.randoms(use_true_random=False))
def test_order_of_the_evidence_does_not_matter(
    hits: list[HitSpan], spans: list[RelevantSpan], chance: random.Random
) -> None:
    shuffled = chance.sample(spans, len(spans))
    assert ndcg(hits, shuffled) == ndcg(hits, spans)


@given(hit_lists, span_lists, st.integers(0, 13))
def test_hit_in_front_that_holds_a_span_is_perfect_for_it(
    hits: list[HitSpan], spans: list[RelevantSpan], place: int
) -> None:
    span = spans[0]
    if place >= len(hits):
        return
    whole = HitSpan(span.doc_id, max(0, span.char_start - 7), span.char_end)
    moved = [whole, *hits[:place], *hits[place + 1 :]]
    assert ndcg(moved, [span]) == 1.0 >= ndcg(hits, [span])


@given(span_lists)
def test_covering_the_evidence_one_by_one_is_perfect(spans: list[RelevantSpan]) -> None:
    hits = [HitSpan(span.doc_id, span.char_start, span.char_end) for span in spans]
    assert ndcg(hits, spans) == pytest.approx(1.0)
