"""Time the index job against the bare encoder, and a shard's build against FAISS alone.

Writes ``results/bench_index.json`` and ``results/bench_build.json``.
"""

import argparse
import logging
import tempfile
from pathlib import Path

import numpy as np
import ray

from benchmarks.environment import capture
from benchmarks.figures import ROOT, Result, say
from benchmarks.index_job import IndexJob, measure_index
from benchmarks.shard_build import measure_build
from benchmarks.shard_rows import COSINE, ShardRows, enlarged, stored_rows, texts
from scp_ray import schema
from scp_ray.chop.prefix import embedding_text
from scp_ray.config import Settings
from scp_ray.pipeline.ray_executor import connect

_SEED = 1


def main() -> None:
    """Run the benchmarks that the arguments ask for."""
    args = _parser().parse_args()
    settings = Settings()
    environment = capture(settings, args.corpus)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        # A cluster of this machine alone, since the bare encoder runs on this machine alone.
        ray.init(
            "local", include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING
        )
        connect()
        job = IndexJob(settings, work)
        say(f"indexing {environment['data']['name']}, untimed")
        job.run(args.corpus)
        rows = stored_rows(work / "index-1")
        if args.only != "build":
            say(f"index job against bare encoder, {rows.chunks.num_rows} chunks")
            figures = measure_index(
                job, args.corpus, _embedded_texts(rows), settings, args.repeat or 3
            )
            embedding = settings.embedding.model_dump(mode="json")
            _write("bench_index", Result(environment, {"embedding": embedding}, figures))
        ray.shutdown()
        if args.only != "index":
            say(f"shard build against FAISS add, {args.vectors} vectors")
            many = enlarged(rows, args.vectors, np.random.default_rng(_SEED))
            target = work / "shard"
            target.mkdir()
            figures = measure_build(many, settings.index, args.repeat or 1, target)
            index = settings.index.model_dump(mode="json")
            run_settings = {"cosine_to_real": COSINE, "seed": _SEED, "index": index}
            _write("bench_build", Result(environment, run_settings, figures))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", type=Path, default=ROOT / "examples" / "manuals", help="folder of documents"
    )
    parser.add_argument(
        "--vectors", type=int, default=100_000, help="vectors of the shard, made from the corpus"
    )
    parser.add_argument(
        "--repeat", type=int, help="rounds of each side; default 3, and 1 for the shard"
    )
    parser.add_argument("--only", choices=["index", "build"], help="run one of the two")
    return parser


def _embedded_texts(rows: ShardRows) -> list[str]:
    pairs = zip(texts(rows.chunks, schema.PREFIX), texts(rows.chunks, schema.TEXT), strict=True)
    return [embedding_text(prefix, chunk) for prefix, chunk in pairs]


def _write(name: str, result: Result) -> None:
    ratio = result.figures["ratio"]
    say(f"ratio {ratio['median']} ({ratio['min']} to {ratio['max']}) in {result.write(name).name}")


if __name__ == "__main__":
    main()
