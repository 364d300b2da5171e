"""Measure recall@10 of the graphs against exact search, with real questions, in both passes.

Of every shard of an index, of one shard of many chunks made from it, and of two more of which a
quarter are exact duplicates. Writes ``results/bench_recall.json``.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.duplicates import with_copied_documents, with_repeated_passages
from benchmarks.environment import capture
from benchmarks.figures import ROOT, Result, say
from benchmarks.graph_recall import PASSES, measure_shards
from benchmarks.shard_rows import COSINE, ShardRows, enlarged, shard_folders, stored_rows
from scp_ray.config import Settings, available_cpus, settings_from_manifest
from scp_ray.embedding.factory import load_encoder
from scp_ray.evaluation.queries import read_queries
from scp_ray.index.build import build_shard
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.protocols import Float32Array
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current

_CORPUS = ROOT / "examples" / "manuals"
_QUERIES = ROOT / "examples" / "manual_queries.jsonl"
_SEED = 1
_DUPLICATE_SHARE = 0.25


def main() -> None:
    """Measure the index, then the shards made from it, and write the figures."""
    args = _parser().parse_args()
    settings = Settings()
    data = _CORPUS if args.index is None else args.queries
    environment = capture(settings, data)
    with tempfile.TemporaryDirectory() as folder:
        index = args.index or _sample_index(Path(folder), settings)
        queries = _vectors(index, args.queries, settings)
        say(f"{len(queries)} questions in every shard of {index.name}")
        figures = {"index": _said(measure_shards(shard_folders(index), queries, settings))}
        rows = stored_rows(index)
        for name in ("large", "copied_documents", "repeated_passages"):
            say(f"{name}: one shard of {args.vectors} chunks")
            made = _made(name, rows, args.vectors)
            figures[name] = _said(_measure_built(made, queries, settings, Path(folder, name)))
    run_settings = {
        "cosine_to_real": COSINE,
        "seed": _SEED,
        "duplicate_share": _DUPLICATE_SHARE,
        "index": settings.index.model_dump(mode="json"),
        "large_build_threads": available_cpus(),
        "retrieval": settings.retrieval.model_dump(mode="json"),
    }
    say(f"written: {Result(environment, run_settings, figures).write('bench_recall').name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", type=Path, help="index; default: one of the sample corpus")
    parser.add_argument("--queries", type=Path, default=_QUERIES, help="its questions")
    parser.add_argument(
        "--vectors", type=int, default=100_000, help="chunks of a large shard, from the index"
    )
    return parser


def _sample_index(work: Path, settings: Settings) -> Path:
    say(f"indexing {_CORPUS.name}")
    index = work / "sample"
    request = IndexRequest(str(_CORPUS), str(index), settings)
    index_corpus(request, InProcessExecutor(), lambda _line: None)
    return index


def _vectors(index: Path, queries: Path, settings: Settings) -> Float32Array:
    """Return the questions as the index's own encoder embeds them."""
    manifest = load_current(open_store(str(index)))
    encoder = load_encoder(settings_from_manifest(manifest.settings, settings).embedding)
    return np.concatenate([encoder.encode_query([query.query]) for query in read_queries(queries)])


def _made(name: str, rows: ShardRows, num_chunks: int) -> ShardRows:
    """Return about ``num_chunks`` chunks made from those of the index."""
    generator = np.random.default_rng(_SEED)
    if name == "copied_documents":
        originals = enlarged(rows, int(num_chunks * (1.0 - _DUPLICATE_SHARE)), generator)
        return with_copied_documents(originals, _DUPLICATE_SHARE)
    made = enlarged(rows, num_chunks, generator)
    if name == "repeated_passages":
        return with_repeated_passages(made, _DUPLICATE_SHARE, generator)
    return made


def _measure_built(
    rows: ShardRows, queries: Float32Array, settings: Settings, folder: Path
) -> dict[str, Any]:
    """Build one shard and ask it all questions; its build may use every core."""
    threads = settings.with_values("index", build_threads=available_cpus()).index
    folder.mkdir()
    report = build_shard(rows.chunks, rows.documents, threads, folder)
    figures = measure_shards([folder], queries, settings)
    return {"num_distinct": report.num_nodes, **figures}


def _said(figures: dict[str, Any]) -> dict[str, Any]:
    recalls = ", ".join(f"{name} {figures[name]['worst_shard']:.4f}" for name in PASSES)
    say(f"{recalls}, {figures['num_unreachable']} unreachable")
    return figures


if __name__ == "__main__":
    main()
