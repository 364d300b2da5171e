"""Our BM25 against the library bm25s, on the same terms of the same chunks.

Its Lucene variant leaves out the factor ``k1 + 1``, and knows no bound; it counts a term again
where a question repeats it, so it gets distinct terms; and it stores float32.
"""

from collections.abc import Sequence
from pathlib import Path

import bm25s  # type: ignore[import-untyped]
import numpy as np
import pytest

from scp_ray import schema
from scp_ray.chop.prefix import embedding_text
from scp_ray.config import load_settings
from scp_ray.evaluation.queries import read_queries
from scp_ray.index.lexical import LexicalIndex, read_postings, write_postings
from scp_ray.index.postings import build_postings
from scp_ray.index.shard_files import read_chunks
from scp_ray.index.term_statistics import TermStatistics, sum_term_statistics
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.records import Stemmer
from scp_ray.retrieval.terms import terms_of
from scp_ray.sections import LexicalConfig
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.publish import load_current

EXAMPLES = Path(__file__).parents[2] / "examples"
FLOAT32 = 1e-5


def assert_same(
    texts: Sequence[str],
    questions: Sequence[str],
    config: LexicalConfig,
    stemmer: Stemmer,
    folder: Path,
) -> None:
    write_postings(build_postings(texts, stemmer), folder)
    postings = read_postings(folder)
    ours = LexicalIndex(postings)
    statistics = TermStatistics(sum_term_statistics([postings.terms]), config, stemmer)
    theirs = bm25s.BM25(k1=config.k1, b=config.b, method="lucene", backend="numpy")
    theirs.index([terms_of(text, stemmer) for text in texts], show_progress=False)
    num_asked = 0
    for question in questions:
        words = statistics.weigh(question)
        if not words.idf:
            assert not theirs.get_tokens_ids(terms_of(question, stemmer))
            continue
        scores = ours.scores(words) * words.bound / (config.k1 + 1.0)
        expected = theirs.get_scores(list(words.idf))
        np.testing.assert_allclose(scores, expected, rtol=FLOAT32, atol=FLOAT32)
        ranked = expected[np.argsort(-scores, kind="stable")]
        assert np.all(np.diff(ranked) <= FLOAT32 * ranked[0])
        num_asked += bool(scores.any())
    assert num_asked >= len(questions) // 2


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The chunks of the shipped manuals, each after its prefix."""
    index = tmp_path_factory.mktemp("manuals")
    settings = load_settings(None, ["embedding.model=hash://32", "index.num_shards=1"], {})
    request = IndexRequest(str(EXAMPLES / "manuals"), str(index), settings)
    index_corpus(request, InProcessExecutor(), lambda _line: None)
    (shard,) = load_current(LocalObjectStore(index)).shards
    rows = read_chunks(index / str(shard.folder)).select([schema.PREFIX, schema.TEXT]).to_pylist()
    return [embedding_text(row[schema.PREFIX], row[schema.TEXT]) for row in rows]


@pytest.mark.parametrize("stemmer", Stemmer)
@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.4, 0.0), (3.0, 1.0)])
def test_the_sample_manuals_score_as_in_bm25s(
    manuals: list[str], k1: float, b: float, stemmer: Stemmer, tmp_path: Path
) -> None:
    questions = [query.query for query in read_queries(EXAMPLES / "manual_queries.jsonl")]
    assert len(manuals) > 200
    assert_same(manuals, questions, LexicalConfig(k1=k1, b=b, pair_weight=0.0), stemmer, tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_random_chunks_score_as_in_bm25s(seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, 80, 3_000) * (generator.random(3_000) < 0.9)
    words = [f"w{rank}" for rank in generator.zipf(1.3, int(lengths.sum())).tolist()]
    ends = np.cumsum(lengths).tolist()
    texts = [" ".join(words[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    assert "" in texts
    questions = [
        " ".join(f"w{rank}" for rank in generator.zipf(1.2, generator.integers(1, 12)).tolist())
        for _ in range(60)
    ]
    config = LexicalConfig(
        k1=float(generator.uniform(0.1, 4.0)), b=float(generator.random()), pair_weight=0.0
    )
    assert_same(texts, questions, config, Stemmer.NONE, tmp_path)
