"""The corpus that is served: chunks, labels for filters, and exact hits."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.serve_corpus import (
    SHARES,
    label_of,
    nearest_rows,
    publish_rows,
    selectivity_labels,
)
from benchmarks.shard_rows import enlarged, stored_rows
from scp_ray.config import load_settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current

SETTINGS = ["embedding.model=hash://32", "index.num_shards=1", "chunking.chunk_size_tokens=16"]
SETTINGS += ["chunking.overlap_tokens=4", "chunking.prefix_budget_tokens=8"]


def test_each_label_has_its_share_and_no_chunk_two() -> None:
    labels = selectivity_labels(["K-100"] * 5000, np.random.default_rng(1))
    counts = [labels.count(label_of(share)) for share in SHARES]
    assert counts == [5, 50, 500]
    assert labels.count("K-100") == 5000 - sum(counts)
    narrow = [row for row, label in enumerate(labels) if label == label_of(SHARES[-1])]
    assert max(narrow) - min(narrow) > 4000  # spread over all documents


def test_nearest_rows_are_the_largest_products_best_first() -> None:
    generator = np.random.default_rng(2)
    vectors = generator.standard_normal((200, 8)).astype(np.float32)
    queries = generator.standard_normal((5, 8)).astype(np.float32)
    for query, rows in zip(queries, nearest_rows(vectors, queries), strict=True):
        products = vectors.astype(np.float64) @ query
        assert len(rows) == len(set(rows)) == 10
        assert products[rows].tolist() == sorted(products, reverse=True)[:10]


@pytest.mark.parametrize("num_shards", [1, 3])
def test_published_rows_are_all_there_in_each_generation(tmp_path: Path, num_shards: int) -> None:
    corpus, sample, index = tmp_path / "corpus", tmp_path / "sample", tmp_path / "index"
    corpus.mkdir()
    for name in ("kettle", "pump", "fan"):
        text = " ".join(f"{name} part {number} is here." for number in range(60))
        (corpus / f"{name}.md").write_text(text, encoding="utf-8")
    settings = load_settings(None, SETTINGS, {})
    index_corpus(IndexRequest(str(corpus), str(sample), settings), InProcessExecutor(), str)
    origin = load_current(open_store(str(sample)))
    for generation in (1, 2):
        rows = enlarged(stored_rows(sample), 150, np.random.default_rng(generation))
        publish_rows(rows, index, num_shards, settings, origin)
        manifest = load_current(open_store(str(index)))
        assert (manifest.generation, len(manifest.shards)) == (generation, num_shards)
        assert sum(shard.num_chunks for shard in manifest.shards) == 150
        stored = stored_rows(index).chunks
        assert stored.column("doc_id").to_pylist() == rows.chunks.column("doc_id").to_pylist()
        assert stored.column("embedding").equals(rows.chunks.column("embedding"))
