"""Time two-pass queries in this process against the encoder and two searches alone.

Writes ``results/bench_query.json``.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.environment import capture
from benchmarks.figures import ROOT, Result, say
from benchmarks.published_rows import publish_shard
from benchmarks.query_rounds import OpenIndex, measure_queries
from benchmarks.shard_rows import COSINE, enlarged, stored_rows
from scp_ray.config import Settings, available_cpus
from scp_ray.evaluation.queries import read_queries
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus

_CORPUS = ROOT / "examples" / "manuals"
_QUERIES = ROOT / "examples" / "manual_queries.jsonl"
_SEED = 1


def main() -> None:
    """Build both indexes and ask them all questions."""
    args = _parser().parse_args()
    settings = Settings()
    environment = capture(settings, _CORPUS)
    questions = [query.query for query in read_queries(_QUERIES)]
    with tempfile.TemporaryDirectory() as folder:
        sample, large = Path(folder, "sample"), Path(folder, "large")
        say(f"indexing {environment['data']['name']}")
        request = IndexRequest(str(_CORPUS), str(sample), settings)
        index_corpus(request, InProcessExecutor(), lambda _line: None)
        opened = OpenIndex(sample, settings)
        say(f"building one shard of {args.vectors} chunks")
        rows = enlarged(stored_rows(sample), args.vectors, np.random.default_rng(_SEED))
        shape = {"num_shards": 1, "build_threads": available_cpus()}
        large_settings = settings.with_values("index", **shape)
        publish_shard(rows, large, large_settings, opened.manifest)
        del rows
        figures = {}
        for name, index, its_settings in (
            ("sample", sample, settings),
            ("large", large, large_settings),
        ):
            say(f"{name}: {len(questions)} questions a round")
            figures[name] = measure_queries(OpenIndex(index, its_settings), questions, args.repeat)
    retrieval = settings.retrieval.model_dump(mode="json")
    index_settings = settings.index.model_dump(mode="json")
    run_settings = {
        "cosine_to_real": COSINE,
        "seed": _SEED,
        "index": index_settings,
        "large_index": shape,
        "retrieval": retrieval,
    }
    say(f"written: {Result(environment, run_settings, figures).write('bench_query').name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--vectors", type=int, default=100_000, help="chunks of the large shard, from the corpus"
    )
    parser.add_argument(
        "--repeat", type=int, default=5, help="rounds, each of which asks every question once"
    )
    return parser


if __name__ == "__main__":
    main()
