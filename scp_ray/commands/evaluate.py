"""``scp-ray evaluate``: how often the right passage is found."""

import argparse
from pathlib import Path

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings
from scp_ray.evaluation.queries import read_queries
from scp_ray.evaluation.report import evidence_figures, figures, render_table

HELP = "measure an index against questions with known answers"
DESCRIPTION = """\
Asks every question of QUERIES (JSONL rows {query_id, query, relevant: [{doc_id, char_start,
char_end}]}) for ten results and prints Hit@1/3/5/10, MRR@10, NDCG@10 and how often the right
document comes first. A result is relevant when it covers half of a relevant span or 100 of its
characters. With --budget it also assembles a context for each question, and prints how much of the
evidence it holds (recall), how much of it is evidence (precision), and its tokens.
"""
EXAMPLES = """\
examples:
  scp-ray evaluate index/ queries.jsonl
  scp-ray evaluate index/ queries.jsonl --budget 1000
  scp-ray evaluate index/ queries.jsonl --set retrieval.position_weight=0 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("queries", metavar="QUERIES", type=Path, help="questions as JSONL")
    parser.add_argument(
        "--budget",
        type=int,
        default=0,
        metavar="N",
        help="also measure contexts of at most N tokens",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.serve.measuring import measure_searcher
    from scp_ray.serve.searcher import LocalSearcher

    queries = read_queries(args.queries)
    searcher = LocalSearcher.open(args.index, settings)
    measured = measure_searcher(searcher, queries, tell, budget=args.budget)
    generation = searcher.manifest.generation
    evidence = evidence_figures(measured.evidence, args.budget) if measured.evidence else {}
    if args.json:
        values = {**figures(measured.ranking), **evidence}
        show_json({"index": args.index, "generation": generation, **values})
    else:
        show(render_table({f"{args.index} generation {generation}": measured.ranking}))
        for name, value in evidence.items():
            show(f"{name:<26} {value}")
    return ExitCode.DONE
