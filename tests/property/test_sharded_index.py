"""Built shards, FAISS and files included: how many there are changes no exact answer."""

import dataclasses
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scp_ray import schema
from scp_ray.config import Settings
from scp_ray.index import shard as shard_module
from scp_ray.index.build import build_shard
from scp_ray.index.postings import build_postings
from scp_ray.index.shard import Shard
from scp_ray.index.sharding import shard_of
from scp_ray.index.term_statistics import TermStatistics, sum_term_statistics
from scp_ray.protocols import Float32Array
from scp_ray.records import QueryParams, ScoredChunk, Stemmer
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.terms import terms_of
from scp_ray.retrieval.two_pass import QueryOutcome, two_pass_query
from scp_ray.sections import IndexConfig, LexicalConfig
from scp_ray.testing.exact_index import ExactIndex
from scp_ray.testing.shard_tables import shard_tables

DIM = 384
seeds = st.integers(0, 2**32)


def unit(vectors: Float32Array) -> Float32Array:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def corpus(seed: int) -> tuple[dict[str, Float32Array], Float32Array]:
    """Documents of near and equal chunks, and a question near some."""
    generator = np.random.default_rng(seed)
    topics = generator.standard_normal((12, DIM))
    pool = unit(
        np.repeat(topics, 10, axis=0)
        + generator.choice([0.0, 0.3], (120, 1)) * generator.standard_normal((120, DIM))
    )
    lengths = generator.integers(1, 60, size=14)
    documents = {
        f"doc-{number}": pool[generator.integers(0, 120, length)]
        for number, length in enumerate(lengths)
    }
    return documents, unit(topics[0] + 0.8 * generator.standard_normal(DIM))


@contextmanager
def opened(
    documents: Mapping[str, Float32Array], num_shards: int, *, code_weight: float = 0.2
) -> Iterator[list[Shard]]:
    config = IndexConfig(
        m=16, ef_construction=100, ef_search=400, positional_code_weight=code_weight
    )
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / str(shard_id) for shard_id in range(num_shards)]
        for shard_id, folder in enumerate(folders):
            folder.mkdir()
            mine = {key: x for key, x in documents.items() if shard_of(key, num_shards) == shard_id}
            build_shard(*shard_tables(mine, dim=DIM), config, folder)
        yield [
            Shard(folder, shard_id=shard_id, ef_search=config.ef_search)
            for shard_id, folder in enumerate(folders)
        ]


def asked(documents: Mapping[str, Float32Array], query: Float32Array) -> Question:
    """A question with words, weighed by postings of one shard with all documents."""
    rows, _ = shard_tables(documents, dim=DIM)
    postings = build_postings(rows[schema.TEXT].to_pylist(), Stemmer.LIGHT)
    summed = sum_term_statistics([postings.terms])
    words = TermStatistics(summed, LexicalConfig(), Stemmer.LIGHT).weigh("doc-3, doc-11: 0, 7")
    return Question(query, words)


def exact_index(documents: Mapping[str, Float32Array]) -> ExactIndex:
    terms = {
        doc_id: [terms_of(f"{doc_id} {row}", Stemmer.LIGHT) for row in range(len(embeddings))]
        for doc_id, embeddings in documents.items()
    }
    return ExactIndex(documents, dim=DIM, terms=terms)


def placeless(outcome: QueryOutcome) -> tuple[object, ...]:
    """All of an outcome but where its chunks lie."""

    def strip(hit: ScoredChunk) -> ScoredChunk:
        return dataclasses.replace(hit, row=0, shard_id=0)

    decisions = [
        dataclasses.replace(decision, candidate=strip(decision.candidate))
        for decision in outcome.selection.decisions
    ]
    hits = [strip(hit) for hit in outcome.first_pass]
    return hits, outcome.prior, outcome.prior_applied, decisions, outcome.selection.exhausted


def params(top_k: int, *, exact: bool, lexical_weight: float = 0.5) -> QueryParams:
    return Settings().query_params(
        top_k=top_k, min_index_gap=3, lexical_weight=lexical_weight, exact=exact
    )


@settings(max_examples=6)
@given(seeds, st.sampled_from([1, 5, 40, 1000]), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_one_shard_answers_as_two_three_and_seven(
    seed: int, top_k: int, lexical_weight: float
) -> None:
    documents, query = corpus(seed)
    wanted = params(top_k, exact=True, lexical_weight=lexical_weight)
    in_memory = placeless(two_pass_query([exact_index(documents)], asked(documents, query), wanted))
    for num_shards in (1, 2, 3, 7):
        with opened(documents, num_shards) as shards:
            assert placeless(two_pass_query(shards, asked(documents, query), wanted)) == in_memory


@settings(max_examples=3)
@given(seeds)
def test_the_code_weight_changes_no_exact_answer(seed: int) -> None:
    documents, query = corpus(seed)
    wanted = params(10, exact=True)
    in_memory = placeless(two_pass_query([exact_index(documents)], asked(documents, query), wanted))
    for code_weight in (0.05, 1.5):
        with opened(documents, 2, code_weight=code_weight) as shards:
            assert placeless(two_pass_query(shards, asked(documents, query), wanted)) == in_memory


@settings(max_examples=6)
@given(seeds)
def test_a_graph_that_misses_nothing_answers_as_a_scan(seed: int) -> None:
    documents, query = corpus(seed)
    with opened(documents, 2) as shards, pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_module, "SCAN_SHARE", 1.0)
        walked = two_pass_query(shards, asked(documents, query), params(5, exact=False))
        scanned = two_pass_query(shards, asked(documents, query), params(5, exact=True))
        assert placeless(walked) == placeless(scanned)
