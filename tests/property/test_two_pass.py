"""The two-pass query against a brute force that shares nothing with it but the score routine."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scp_ray.config import Settings
from scp_ray.index.sharding import shard_of
from scp_ray.protocols import Float32Array
from scp_ray.records import PositionPrior, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.bm25 import LexicalQuery
from scp_ray.retrieval.gap_selector import select_with_gap
from scp_ray.retrieval.prior import prior_in_force
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.score import Weights, score_chunks
from scp_ray.retrieval.two_pass import QueryOutcome, two_pass_query
from scp_ray.testing.exact_index import ExactIndex

DIM = 6


class Case(NamedTuple):
    """A corpus with many equal vectors and equal texts, a question, and how to answer it."""

    documents: Mapping[str, Float32Array]
    terms: Mapping[str, Sequence[Sequence[str]]]
    query: Float32Array
    words: LexicalQuery | None
    params: QueryParams

    @property
    def lexical_weight(self) -> float:
        if self.words is None:
            return 0.0
        num_known = len(self.words.idf)
        return self.params.lexical_weight * num_known / (num_known + self.words.num_unknown)

    @property
    def question(self) -> Question:
        return Question(self.query, self.words)


def _unit(vectors: Float32Array) -> Float32Array:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@st.composite
def cases(draw: st.DrawFn, max_top_k: int = 60) -> Case:
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    pool = _unit(generator.standard_normal((draw(st.integers(1, 12)), DIM)).astype(np.float32))
    lengths = draw(st.lists(st.integers(1, 70), max_size=12))
    documents = {
        f"{'é' * (number % 2)}doc-{number}": pool[generator.integers(0, len(pool), length)]
        for number, length in enumerate(lengths)
    }
    texts = draw(st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=5))
    terms = {
        name: [texts[place] for place in generator.integers(0, len(texts), len(embeddings))]
        for name, embeddings in documents.items()
    }
    is_known = draw(st.booleans())
    query = pool[0] if is_known else _unit(generator.standard_normal(DIM).astype(np.float32))
    params = Settings().query_params(
        exact=True,
        top_k=draw(st.integers(1, max_top_k)),
        min_index_gap=draw(st.integers(1, 5)),
        position_weight=draw(st.sampled_from([0.0, 0.02, 0.5, 1.0])),
        lexical_weight=draw(st.sampled_from([0.0, 0.01, 0.5, 0.9, 1.0])),
        first_pass_candidates=draw(st.integers(1, 40)),
        prior_temperature=draw(st.sampled_from([0.01, 0.05, 10.0])),
        prior_gate=draw(st.sampled_from([0.0, 0.2, 0.9])),
    )
    return Case(documents, terms, query, draw(st.none() | lexical_queries()), params)


@st.composite
def lexical_queries(draw: st.DrawFn) -> LexicalQuery:
    idf = st.floats(0.001, 12.0)
    return LexicalQuery(
        draw(st.dictionaries(st.sampled_from("abcxyz"), idf, min_size=1)),
        mean_length=draw(st.sampled_from([0.5, 3.0, 40.0])),
        k1=draw(st.sampled_from([0.1, 1.2, 8.0])),
        b=draw(st.sampled_from([0.0, 0.75, 1.0])),
        num_unknown=draw(st.sampled_from([0, 0, 1, 7])),
    )


def shards(case: Case, num_shards: int, code_weight: float = 0.2) -> list[ExactIndex]:
    return [
        ExactIndex(
            {name: x for name, x in case.documents.items() if shard_of(name, num_shards) == number},
            dim=DIM,
            shard_id=number,
            code_weight=code_weight,
            terms=case.terms,
        )
        for number in range(num_shards)
    ]


def answer(case: Case, num_shards: int = 1, code_weight: float = 0.2) -> QueryOutcome:
    """Answer, without the row and the shard that a chunk happens to have."""
    outcome = two_pass_query(shards(case, num_shards, code_weight), case.question, case.params)
    decisions = tuple(
        dataclasses.replace(decision, candidate=_placeless(decision.candidate))
        for decision in outcome.selection.decisions
    )
    return dataclasses.replace(
        outcome,
        first_pass=[_placeless(hit) for hit in outcome.first_pass],
        selection=Selection(
            decisions,
            outcome.selection.exhausted,
            tuple(_placeless(chunk) for chunk in outcome.selection.ranking),
        ),
    )


def _placeless(hit: ScoredChunk) -> ScoredChunk:
    return dataclasses.replace(hit, row=0, shard_id=0)


def lexical_score(words: LexicalQuery, terms: Sequence[str]) -> float:
    """BM25 over its bound, as the textbook has it."""
    norm = words.k1 * (1 - words.b + words.b * max(len(terms), 1) / words.mean_length)
    return math.fsum(
        idf * terms.count(term) * (words.k1 + 1) / (terms.count(term) + norm)
        for term, idf in words.idf.items()
    ) / math.fsum(idf * (words.k1 + 1) for idf in words.idf.values())


def brute_force_ranking(
    case: Case, prior: PositionPrior | None, *, words: LexicalQuery | None = None
) -> list[tuple[float, str, int]]:
    """Score every chunk by itself and sort: (-score, doc_id, chunk_index)."""
    weight = case.lexical_weight if words else 0.0
    ranking = []
    for doc_id, embeddings in case.documents.items():
        for index, embedding in enumerate(embeddings):
            position = index / (len(embeddings) - 1) if len(embeddings) > 1 else 0.5
            alone = ExactIndex(
                {"": embedding[np.newaxis]}, dim=DIM, terms={"": [case.terms[doc_id][index]]}
            )
            terms = score_chunks(
                case.query,
                embedding[np.newaxis],
                np.array([position]),
                prior=prior,
                weights=Weights(case.params.position_weight, weight),
                lexical=alone.lexical_scores(words) if words and weight else None,
            )
            ranking.append((-float(terms.score[0]), doc_id, index))
    return sorted(ranking)


def fused_ranking(case: Case, prior: PositionPrior | None) -> list[tuple[float, str, int]]:
    return brute_force_ranking(case, prior, words=case.words)


def brute_force_selection(
    ranking: Sequence[tuple[float, str, int]], params: QueryParams
) -> list[tuple[float, str, int, int | None]]:
    """Compare each candidate with every kept one, best first."""
    decisions: list[tuple[float, str, int, int | None]] = []
    kept: list[tuple[str, int]] = []
    for score, doc_id, index in ranking:
        if len(kept) == params.top_k:
            break
        near = [
            other
            for document, other in kept
            if document == doc_id and abs(other - index) < params.min_index_gap
        ]
        decisions.append((score, doc_id, index, near[0] if near else None))
        if not near:
            kept.append((doc_id, index))
    return decisions


def listed(outcome: QueryOutcome) -> list[tuple[float, str, int, int | None]]:
    return [(*d.candidate.rank_key, d.near) for d in outcome.selection.decisions]


@given(cases())
def test_both_passes_equal_brute_force(case: Case) -> None:
    outcome = answer(case)
    plain = brute_force_ranking(case, None)
    hits = [hit.rank_key for hit in outcome.first_pass]
    assert hits == plain[: case.params.first_pass_candidates]
    in_force = prior_in_force(outcome.prior, case.params)
    assert outcome.prior_applied == (in_force is not None)
    expected = brute_force_selection(fused_ranking(case, in_force), case.params)
    assert listed(outcome) == expected
    num_kept = sum(near is None for *_, near in expected)
    assert outcome.selection.exhausted == (num_kept < case.params.top_k)


@given(cases())
def test_the_number_of_shards_changes_nothing(case: Case) -> None:
    alone = answer(case)
    for num_shards in (2, 3, 7):
        assert answer(case, num_shards) == alone


@given(cases(), st.sampled_from([0.01, 1.0, 10.0]))
def test_the_code_weight_changes_nothing(case: Case, code_weight: float) -> None:
    assert answer(case, 2, code_weight) == answer(case)


@given(cases())
def test_results_are_a_gap_apart_and_nothing_eligible_is_left_out(case: Case) -> None:
    selection = answer(case).selection
    gap = case.params.min_index_gap
    kept = [(hit.key.doc_id, hit.key.chunk_index) for hit in selection.kept]
    for place, (doc_id, index) in enumerate(kept):
        others = [other for name, other in kept[:place] if name == doc_id]
        assert all(abs(other - index) >= gap for other in others)
    if selection.exhausted:
        for doc_id, embeddings in case.documents.items():
            mine = [index for name, index in kept if name == doc_id]
            for index in range(len(embeddings)):
                assert any(abs(index - other) < gap for other in mine)
    else:
        assert len(kept) == case.params.top_k


@given(cases())
def test_dropped_candidates_name_a_better_kept_neighbour(case: Case) -> None:
    selection = answer(case).selection
    ranks = {
        (d.candidate.key.doc_id, d.candidate.key.chunk_index): d.candidate.rank_key
        for d in selection.decisions
        if d.kept
    }
    for decision in selection.decisions:
        if not decision.kept:
            key = decision.candidate.key
            assert decision.near is not None
            assert abs(decision.near - key.chunk_index) < case.params.min_index_gap
            assert ranks[key.doc_id, decision.near] < decision.candidate.rank_key


@given(cases())
def test_scores_are_the_weighted_sum_of_cosine_words_and_position(case: Case) -> None:
    outcome = answer(case)
    weight = case.params.position_weight if outcome.prior_applied else 0.0
    mu = outcome.prior.position if outcome.prior else 0.0
    for decision in outcome.selection.decisions:
        hit = decision.candidate
        embedding = case.documents[hit.key.doc_id][hit.key.chunk_index]
        cosine = math.fsum(float(a) * float(b) for a, b in zip(case.query, embedding, strict=True))
        lexical, share = 0.0, 0.0
        if case.words and case.params.lexical_weight:
            share = case.lexical_weight
            lexical = lexical_score(case.words, case.terms[hit.key.doc_id][hit.key.chunk_index])
        distance = math.cos(math.pi * (hit.position - mu))
        expected = (1 - share) * cosine + share * lexical + weight * distance
        assert hit.score == pytest.approx(expected, abs=1e-12)
        assert hit.semantic_score == pytest.approx(cosine, abs=1e-12)
        assert hit.lexical_score == pytest.approx(lexical, abs=1e-12)
        assert -1e-9 <= hit.lexical_score <= 1.0 + 1e-9


@given(cases(), st.integers(0, 80), st.sampled_from([1, 3]))
def test_the_ranking_is_what_a_sort_gives(case: Case, num_ranked: int, num_shards: int) -> None:
    params = dataclasses.replace(case.params, num_ranked=num_ranked)
    outcome = answer(case._replace(params=params), num_shards)
    in_force = prior_in_force(outcome.prior, params)
    expected = fused_ranking(case, in_force)[:num_ranked]
    assert [chunk.rank_key for chunk in outcome.selection.ranking] == expected
    assert listed(outcome) == listed(answer(case))


@given(cases())
def test_weight_zero_is_plain_cosine(case: Case) -> None:
    params = dataclasses.replace(
        case.params, position_weight=0.0, lexical_weight=0.0, min_index_gap=1
    )
    outcome = answer(case._replace(params=params))
    plain = brute_force_ranking(case, None)[: params.top_k]
    assert [hit.rank_key for hit in outcome.selection.kept] == plain
    assert not outcome.prior_applied


@given(cases())
def test_selecting_again_from_the_results_changes_nothing(case: Case) -> None:
    kept = answer(case).selection.kept
    again = select_with_gap(kept, top_k=case.params.top_k, min_index_gap=case.params.min_index_gap)
    assert [decision.candidate for decision in again if decision.kept] == kept
    assert len(again) == len(kept)


@given(cases(), st.sampled_from([1, 3]))
def test_a_filter_equals_an_index_of_the_allowed_chunks(case: Case, num_shards: int) -> None:
    parts = shards(case, num_shards)
    allowed = [np.arange(part.num_chunks) % 3 == 0 for part in parts]
    outcome = two_pass_query(parts, case.question, case.params, allowed=allowed)
    names = {
        part.keys(np.array([row]))[0]
        for part, mask in zip(parts, allowed, strict=True)
        for row in np.flatnonzero(mask)
    }

    def is_allowed(entry: tuple[float, str, int]) -> bool:
        return any((entry[1], entry[2]) == (key.doc_id, key.chunk_index) for key in names)

    plain = [entry for entry in brute_force_ranking(case, None) if is_allowed(entry)]
    hits = [hit.rank_key for hit in outcome.first_pass]
    assert hits == plain[: case.params.first_pass_candidates]
    in_force = prior_in_force(outcome.prior, case.params)
    ranking = [entry for entry in fused_ranking(case, in_force) if is_allowed(entry)]
    assert listed(outcome) == brute_force_selection(ranking, case.params)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 400), st.sampled_from([3, 96, 384]))
def test_a_score_does_not_depend_on_what_is_scored_with_it(
    seed: int, num_chunks: int, dim: int
) -> None:
    generator = np.random.default_rng(seed)
    embeddings = _unit(generator.standard_normal((num_chunks, dim)).astype(np.float32))
    query = _unit(generator.standard_normal(dim).astype(np.float32))
    positions = generator.uniform(size=num_chunks)
    prior = PositionPrior(float(generator.uniform()), 1.0)
    some = generator.permutation(num_chunks)[: generator.integers(1, num_chunks + 1)]
    together, apart = (
        score_chunks(query, embeddings[rows], positions[rows], prior=prior, weights=Weights(0.3))
        for rows in (np.arange(num_chunks), some)
    )
    for whole, part in zip(together, apart, strict=True):
        assert whole[some].tobytes() == part.tobytes()
