"""Measure how often the right passage is found: plain chunks against CHOP + SCP-HNSW.

Each of them without and with words beside the vectors.

Writes ``results/bench_retrieval.json``.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.environment import capture
from benchmarks.figures import ROOT, Result, say
from scp_ray.config import load_settings
from scp_ray.evaluation.queries import Query, read_queries
from scp_ray.evaluation.report import Figures, figures
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor, connect
from scp_ray.pipeline.run import index_corpus
from scp_ray.serve.measuring import measure_searcher
from scp_ray.serve.searcher import LocalSearcher

_VECTORS = "retrieval.lexical_weight=0"
SYSTEMS = {
    "plain": ["chop.annotator=none", "retrieval.position_weight=0", _VECTORS],
    "plain_words": ["chop.annotator=none", "retrieval.position_weight=0"],
    "chop": [_VECTORS],
    "chop_words": [],
}


def main() -> None:
    """Index the corpus with each system, ask every question, and write the figures."""
    args = _parser().parse_args()
    environment = capture(load_settings(None, [], {}), args.corpus)
    queries = read_queries(args.queries)
    connect()
    with tempfile.TemporaryDirectory() as folder:
        measured = {
            name: _measure(args.corpus, queries, assignments, Path(folder) / name)
            for name, assignments in SYSTEMS.items()
        }
    path = Result(environment, {"systems": SYSTEMS}, measured).write("bench_retrieval")
    say(f"wrote {path.relative_to(ROOT)}: {measured}")


def _measure(corpus: Path, queries: list[Query], assignments: list[str], index: Path) -> Figures:
    settings = load_settings(None, assignments, {})
    index_corpus(IndexRequest(str(corpus), str(index), settings), RayExecutor(settings), say)
    searcher = LocalSearcher.open(str(index), settings)
    return figures(measure_searcher(searcher, queries, say).ranking)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    examples = ROOT / "examples"
    parser.add_argument("--corpus", type=Path, default=examples / "manuals", help="documents")
    parser.add_argument(
        "--queries", type=Path, default=examples / "manual_queries.jsonl", help="questions"
    )
    return parser


if __name__ == "__main__":
    main()
