"""``scp-ray evaluate``: how often the right passage is found."""

import argparse
from pathlib import Path

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings
from scp_ray.evaluation.metrics import CUTOFF, evaluate
from scp_ray.evaluation.queries import read_queries
from scp_ray.evaluation.relevance import HitSpan
from scp_ray.evaluation.report import figures, render_table
from scp_ray.serve.models import QueryReply, QueryRequest

HELP = "measure an index against questions with known answers"
DESCRIPTION = """\
Asks every question of QUERIES (JSONL rows {query_id, query, relevant: [{doc_id, char_start,
char_end}]}) for ten results and prints Hit@1/3/5/10, MRR@10, NDCG@10 and how often the right
document comes first. A result is relevant when it covers half of a relevant span or 100 of its
characters.
"""
EXAMPLES = """\
examples:
  scp-ray evaluate index/ queries.jsonl
  scp-ray evaluate index/ queries.jsonl --set retrieval.position_weight=0 --json
"""
_PROGRESS_EVERY = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="folder of the index")
    parser.add_argument("queries", metavar="QUERIES", type=Path, help="questions as JSONL")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.serve.searcher import LocalSearcher

    queries = read_queries(args.queries)
    searcher = LocalSearcher.open(args.index, settings)
    replies: dict[str, list[HitSpan]] = {}
    for number, query in enumerate(queries, 1):
        reply = searcher.answer(QueryRequest(query=query.query, top_k=CUTOFF))
        replies[query.query_id] = _hits(reply)
        if number % _PROGRESS_EVERY == 0:
            tell(f"asked {number}/{len(queries)} questions")
    report = evaluate(queries, replies)
    generation = searcher.manifest.generation
    if args.json:
        show_json({"index": args.index, "generation": generation, **figures(report)})
    else:
        show(render_table({f"{args.index} generation {generation}": report}))
    return ExitCode.DONE


def _hits(reply: QueryReply) -> list[HitSpan]:
    return [HitSpan(result.doc_id, result.char_start, result.char_end) for result in reply.results]
