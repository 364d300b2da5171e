"""Our metrics against ir-measures, whose figures are those of trec_eval.

Spans become items to be found. Where each hit holds at most one span, a hit that is the first to
hold one is that item, and everything else is an item that nobody judged.
"""

import random
from collections.abc import Callable, Mapping

import ir_measures
import pytest
from ir_measures import AP, RR, Success, nDCG

from scp_ray.evaluation.metrics import GRADED_RANKS, HIT_RANKS, evaluate, ndcg
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import HitSpan, RelevantSpan

LENGTH = 1000
NUM_QUESTIONS = 300
WHOLE = 10**6


def _span(place: int) -> RelevantSpan:
    return RelevantSpan("a", 2 * place * LENGTH, (2 * place + 1) * LENGTH)


def _question(generator: random.Random, number: int) -> tuple[Query, list[HitSpan]]:
    """Return spans and a ranking of hits that each hold one of them whole, or none."""
    spans = [_span(place) for place in range(generator.randint(1, 14))]
    wanted = generator.sample(spans, generator.randint(0, len(spans)))
    hits = [HitSpan(span.doc_id, span.char_start, span.char_end) for span in wanted]
    misses = [HitSpan("b", 9 * n, 9 * n + 5) for n in range(generator.randint(0, 12))]
    ranking = [*hits, *misses, *generator.choices(hits, k=generator.randint(0, 2) if hits else 0)]
    generator.shuffle(ranking)
    return Query(f"q{number}", "?", tuple(spans)), ranking


def _judged(query: Query) -> dict[str, int]:
    return {str(span.char_start): 1 for span in query.relevant}


def _run(query: Query, hits: list[HitSpan]) -> dict[str, float]:
    """Name each hit that is the first to hold a span by that span, and score by rank."""
    run: dict[str, float] = {}
    for rank, hit in enumerate(hits):
        name = str(hit.char_start) if hit.doc_id == "a" else f"miss {rank}"
        run[name if name not in run else f"again {rank}"] = -float(rank)
    return run


def test_figures_are_those_of_trec_eval(record_property: Callable[[str, object], None]) -> None:
    generator = random.Random(7)
    asked = [_question(generator, number) for number in range(NUM_QUESTIONS)]
    ours = evaluate([query for query, _ in asked], {query.query_id: hits for query, hits in asked})
    names = {
        **{f"hit@{k}": Success @ k for k in HIT_RANKS},
        **{f"mrr@{k}": RR @ k for k in GRADED_RANKS},
        **{f"ndcg@{k}": nDCG @ k for k in GRADED_RANKS},
        "map@10": AP @ 10,
    }
    qrels = {query.query_id: _judged(query) for query, _ in asked}
    runs = {query.query_id: _run(query, hits) for query, hits in asked}
    theirs = {
        (one.query_id, str(one.measure)): one.value
        for one in ir_measures.iter_calc(list(names.values()), qrels, runs)
    }
    compared = 0
    for outcome in ours.outcomes:
        for name, measure in names.items():
            if not runs[outcome.query_id]:
                assert outcome.values[name] == 0.0
                continue
            expected = theirs[outcome.query_id, str(measure)]
            assert outcome.values[name] == pytest.approx(expected, abs=1e-9), (outcome, name)
            compared += 1
    assert compared > 0.9 * NUM_QUESTIONS * len(names)
    record_property("values_compared", compared)


def _graded(
    generator: random.Random, num_spans: int
) -> tuple[list[RelevantSpan], list[HitSpan], Mapping[str, int]]:
    """Return spans, hits that each hold a part of one, and what each hit adds, in parts of 1e6.

    What is new is counted character by character.
    """
    spans = [_span(place) for place in range(num_spans)]
    hits, added = [], {}
    seen: set[tuple[int, int]] = set()
    for rank in range(generator.randint(1, 10)):
        span = generator.choice(spans)
        start = span.char_start + generator.randint(-400, 900)
        hit = HitSpan("a", max(start, 0), start + generator.randint(401, 600))
        characters = {
            (one.char_start, place)
            for one in spans
            for place in range(max(hit.char_start, one.char_start), min(hit.char_end, one.char_end))
        }
        added[f"hit {rank}"] = len(characters - seen) * WHOLE // LENGTH
        seen |= characters
        hits.append(hit)
    return spans, hits, added


@pytest.mark.parametrize("k", GRADED_RANKS)
def test_graded_gain_is_that_of_trec_eval(k: int) -> None:
    generator = random.Random(k)
    for number in range(200):
        # With k spans and more, an ideal of whole spans is what trec_eval makes of judgements.
        spans, hits, added = _graded(generator, generator.randint(k, k + 4))
        ideal = {f"whole {place}": WHOLE for place in range(k)}
        run = {f"hit {rank}": -float(rank) for rank in range(len(hits))}
        qrels = {"q": {**{name: gain for name, gain in added.items() if gain}, **ideal}}
        expected = ir_measures.calc_aggregate([nDCG @ k], qrels, {"q": run})[nDCG @ k]
        assert ndcg(hits, spans, k) == pytest.approx(expected, abs=1e-5), number
