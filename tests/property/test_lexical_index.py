"""The lexical index: brute-force BM25, and the same bits however documents are spread."""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scp_ray.index.lexical import LEXICAL_FILES, LexicalIndex, read_postings, write_postings
from scp_ray.index.postings import Postings, build_postings
from scp_ray.index.term_statistics import TermStatistics, sum_term_statistics
from scp_ray.protocols import Float64Array
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import MOST_COUNTED
from scp_ray.retrieval.candidates import lexical_candidates
from scp_ray.retrieval.pairs import pairs_of
from scp_ray.sections import LexicalConfig

Texts = list[str]
Array = npt.NDArray[np.int32] | npt.NDArray[np.uint8]

# "a" and "b" are in most chunks, the others in few: both layouts of postings occur.
WORDS = [*"aaaaaaaabbbb", "cc", "dd", "ee", "ff", "gg", "ähre", "9"]
chunks = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
repeated = st.sampled_from(["", "a", "a b", "cc", "ff " * 300])
documents = st.lists(
    st.lists(chunks, min_size=1, max_size=4)
    | st.builds(lambda text, count: [text] * count, repeated, st.integers(1, 12)),
    max_size=12,
)
questions = st.lists(st.sampled_from([*WORDS, "lion"]), min_size=1, max_size=8).map(" ".join)
configs = st.builds(
    LexicalConfig,
    k1=st.sampled_from([0.01, 1.2, 10.0]) | st.floats(0.01, 10.0),
    b=st.sampled_from([0.0, 0.75, 1.0]) | st.floats(0.0, 1.0),
    pair_weight=st.sampled_from([0.0, 0.5, 1.0]),
)


class Generation(NamedTuple):
    """Shards of documents, and the statistics over them."""

    shards: list[Postings]
    statistics: TermStatistics


def generation(shards: Sequence[Texts], config: LexicalConfig) -> Generation:
    built = [build_postings(texts, Stemmer.NONE) for texts in shards]
    summed = sum_term_statistics([postings.terms for postings in built])
    return Generation(built, TermStatistics(summed, config, Stemmer.NONE))


def scores_of(shards: Sequence[Postings], question: str, whole: Generation) -> list[Float64Array]:
    words = whole.statistics.weigh(question)
    if not words.idf:
        return [np.zeros(len(postings.lengths)) for postings in shards]
    return [LexicalIndex(postings).scores(words) for postings in shards]


def pair_terms(words: Sequence[str]) -> list[str]:
    return [pair for _, _, pair in pairs_of(words)]


def brute_force(texts: Texts, question: str, config: LexicalConfig) -> list[float]:
    """BM25 of each text, pairs of words included, over what it could be at most."""
    split = [text.split() for text in texts]
    held = [[*words, *pair_terms(words)] for words in split]
    mean = sum(map(len, split)) / max(len(split), 1)
    asked = question.split()
    known = {word for words in split for word in words}
    sought = dict.fromkeys(asked, 1.0)
    sought |= {
        pair: config.pair_weight
        for first, second, pair in pairs_of(asked)
        if {first, second} <= known
    }
    weights = {}
    for term, weight in sought.items():
        frequency = sum(term in terms for terms in held)
        if frequency and weight:
            idf = math.log(1 + (len(split) - frequency + 0.5) / (frequency + 0.5))
            weights[term] = weight * idf
    scores = []
    for words, terms in zip(split, held, strict=True):
        total = 0.0
        for term, weight in weights.items():
            count = min(terms.count(term), 255)
            relative = max(len(words), 1) / mean
            total += weight * count / (count + config.k1 * (1 - config.b + config.b * relative))
        scores.append(total / sum(weights.values()) if weights else 0.0)
    return scores


def flat(docs: Sequence[Texts]) -> Texts:
    return [text for doc in docs for text in doc]


def files_of(postings: Postings) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        write_postings(postings, Path(folder))
        return {name: (Path(folder) / name).read_bytes() for name in LEXICAL_FILES}


@given(docs=documents, question=questions, config=configs)
def test_scores_are_those_of_brute_force(
    docs: list[Texts], question: str, config: LexicalConfig
) -> None:
    texts = flat(docs)
    whole = generation([texts], config)
    assert set(whole.statistics.weigh(question).pairs) <= set(pair_terms(question.split()))
    (scores,) = scores_of(whole.shards, question, whole)
    assert scores.dtype == np.float64
    assert scores.tolist() == pytest.approx(brute_force(texts, question, config), abs=1e-12)
    assert np.all((scores >= 0.0) & (scores <= 1.0))


@given(
    docs=documents,
    question=questions,
    config=configs,
    places=st.lists(st.integers(0, 10**6), min_size=12, max_size=12),
    num_shards=st.sampled_from([1, 2, 3, 7]),
)
@example(  # "a" is dense in one shard and listed in the other
    docs=[["a b"] * 4, ["a a", *["b"] * 20], ["cc"] * 3],
    question="a cc b",
    config=LexicalConfig(),
    places=[0, 1, 0, *[0] * 9],
    num_shards=2,
)
def test_a_chunk_scores_the_same_bits_in_any_shard(
    docs: list[Texts], question: str, config: LexicalConfig, places: list[int], num_shards: int
) -> None:
    members: list[list[int]] = [[] for _ in range(num_shards)]
    for number in range(len(docs)):
        members[places[number] % num_shards].append(number)
    alone = generation([flat(docs)], config)
    spread = generation([flat([docs[number] for number in part]) for part in members], config)
    (expected,) = scores_of(alone.shards, question, alone)
    starts = np.cumsum([0, *map(len, docs)])
    for part, scores in zip(members, scores_of(spread.shards, question, spread), strict=True):
        rows = [row for number in part for row in range(starts[number], starts[number + 1])]
        assert scores.tobytes() == expected[rows].tobytes()


@given(docs=documents, num_shards=st.sampled_from([1, 2, 3, 7]))
def test_statistics_of_shards_add_up_to_those_of_one(docs: list[Texts], num_shards: int) -> None:
    parts = [build_postings(flat(docs[n::num_shards]), Stemmer.NONE) for n in range(num_shards)]
    summed = sum_term_statistics([part.terms for part in parts])
    alone = sum_term_statistics([build_postings(flat(docs), Stemmer.NONE).terms])
    assert summed.table.to_pydict() == alone.table.to_pydict()
    assert summed.collection == alone.collection


@given(docs=documents, question=questions, config=configs)
def test_what_is_read_back_is_what_was_written(
    docs: list[Texts], question: str, config: LexicalConfig
) -> None:
    whole = generation([flat(docs)], config)
    with tempfile.TemporaryDirectory() as folder:
        write_postings(whole.shards[0], Path(folder))
        mapped = read_postings(Path(folder))
        assert mapped.terms.table.equals(whole.shards[0].terms.table)
        assert mapped.terms.collection == whole.shards[0].terms.collection
        arrays: list[tuple[Array, Array]] = list(zip(mapped[1:], whole.shards[0][1:], strict=True))
        for read, made in arrays:
            assert read.dtype == made.dtype
            assert read.tolist() == made.tolist()
        (kept,), (read_scores,) = (
            scores_of(shards, question, whole) for shards in (whole.shards, [mapped])
        )
    assert kept.tobytes() == read_scores.tobytes()


@given(docs=documents)
def test_the_same_texts_give_the_same_bytes(docs: list[Texts]) -> None:
    first, again = (build_postings(iter(flat(docs)), Stemmer.NONE) for _ in range(2))
    assert files_of(first) == files_of(again)


def test_a_large_shard_scores_as_brute_force() -> None:
    generator = np.random.default_rng(0)
    num_rows = 2**16 + 7
    texts = [
        " ".join(["a"] * many + ["cc"] * few)
        for many, few in zip(
            generator.integers(0, 3, num_rows).tolist(),
            (generator.random(num_rows) < 0.01).tolist(),
            strict=True,
        )
    ]
    config = LexicalConfig()
    whole = generation([texts], config)
    (scores,) = scores_of(whole.shards, "a cc", whole)
    np.testing.assert_allclose(scores, brute_force(texts, "a cc", config), rtol=0, atol=1e-12)


def test_repeats_beyond_what_is_counted_change_the_length_alone() -> None:
    texts = ["ff " * MOST_COUNTED, "ff " * (MOST_COUNTED + 1), "a"]
    whole = generation([texts], LexicalConfig(b=0.0))
    (scores,) = scores_of(whole.shards, "ff", whole)
    assert scores[0] == scores[1] > 0.0


@given(
    seed=st.integers(0, 2**32),
    num_rows=st.integers(0, 700) | st.integers(1_000, 5_000),
    num_values=st.sampled_from([1, 2, 5, 10**6]),
    share=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    depth=st.integers(1, 15) | st.integers(1, 800),
    filtered=st.booleans(),
)
def test_best_words_are_the_best_with_a_bound_on_the_rest(
    seed: int, num_rows: int, num_values: int, share: float, depth: int, *, filtered: bool
) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(1, num_values + 1, num_rows) / num_values
    scores *= generator.random(num_rows) < share
    allowed = generator.random(num_rows) < 0.5 if filtered else None
    rows, bound = lexical_candidates(scores, depth, allowed)
    eligible = scores if allowed is None else scores[allowed]
    best = sorted(eligible[eligible > 0.0].tolist(), reverse=True)
    assert scores[rows].tolist() == best[:depth]
    assert len(set(rows.tolist())) == len(rows)
    assert allowed is None or np.all(allowed[rows])
    rest = np.ones(num_rows, dtype=bool) if allowed is None else allowed.copy()
    rest[rows] = False
    assert np.all(scores[rest] <= bound)
    assert bound == (best[depth - 1] if len(best) >= depth else 0.0)
