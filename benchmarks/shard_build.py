"""A shard's build, with audit and writing, against FAISS adding the same vectors."""

import time
from pathlib import Path
from typing import Any

import faiss

from benchmarks.figures import say, spreads
from benchmarks.shard_rows import ShardRows
from scp_ray.index.build import ShardBuildReport, build_shard
from scp_ray.index.shard_files import embedding_matrix
from scp_ray.retrieval.positional_code import store_vectors
from scp_ray.sections import IndexConfig


def measure_build(
    rows: ShardRows, config: IndexConfig, num_rounds: int, work: Path
) -> dict[str, Any]:
    """Time both sides by turns, the one that goes first changing from round to round.

    Args:
        rows: What the shard holds.
        config: Graph and audit settings.
        num_rounds: Builds of each side.
        work: Folder for the shard's files.
    """
    rounds: list[dict[str, float]] = []
    for number in range(num_rounds):
        if number % 2:
            add_s, (report, build_s) = _add(rows, config), _build(rows, config, work)
        else:
            (report, build_s), add_s = _build(rows, config, work), _add(rows, config)
        figures = {
            "build_s": build_s,
            "add_s": add_s,
            "ratio": add_s / build_s,
            "sort_s": report.sort_s,
            "graph_s": report.build_s,
            "audit_s": report.audit_s,
            "write_s": report.write_s,
            "first_pass_recall": report.audit.first_pass_recall,
            "second_pass_recall": report.audit.second_pass_recall,
        }
        rounds.append(figures)
        say(f"round {number + 1}: " + ", ".join(f"{k} {v:.3f}" for k, v in figures.items()))
    sizes = {path.name: path.stat().st_size for path in sorted(work.iterdir())}
    return {
        "num_chunks": rows.chunks.num_rows,
        "num_documents": rows.documents.num_rows,
        **spreads(rounds),
        "bytes_per_chunk": sum(sizes.values()) / rows.chunks.num_rows,
        "file_bytes": sizes,
    }


def _build(rows: ShardRows, config: IndexConfig, folder: Path) -> tuple[ShardBuildReport, float]:
    started = time.perf_counter()
    report = build_shard(rows.chunks, rows.documents, config, folder)
    return report, time.perf_counter() - started


def _add(rows: ShardRows, config: IndexConfig) -> float:
    """Return the seconds that FAISS takes to add the vectors that the shard's graph holds."""
    vectors = store_vectors(
        embedding_matrix(rows.chunks), rows.positions, config.positional_code_weight
    )
    index = faiss.IndexHNSWFlat(vectors.shape[1], config.m, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = config.ef_construction
    num_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(config.build_threads)
    started = time.perf_counter()
    index.add(vectors)
    seconds = time.perf_counter() - started
    faiss.omp_set_num_threads(num_threads)
    return seconds
