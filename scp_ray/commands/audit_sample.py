"""``scp-ray audit sample``: a sheet of an index's own results, for people to review."""

import argparse
from pathlib import Path

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings
from scp_ray.errors import ConfigError

HELP = "export a sheet of an index's results for people to review"
DESCRIPTION = """\
Asks every question of QUERIES for ten results and writes a random sample of them, as a sheet with
blank cells for rating, labels, flags, narrative and reviewer: `scp-ray audit text` reads it back.
First results, second and third, and later ones are sampled in equal numbers; the seed is fixed, so
that the same results give the same sheet. A file that is there already is never written over.
"""
EXAMPLES = """\
examples:
  scp-ray audit sample index/ queries.jsonl --out sheet.csv
  scp-ray audit sample index/ queries.jsonl --out sheet.parquet --size 300
"""
_SIZE = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("queries", metavar="QUERIES", type=Path, help="questions as JSONL")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        required=True,
        help="the sheet: .csv, .jsonl or .parquet",
    )
    parser.add_argument(
        "--size", type=int, default=_SIZE, metavar="N", help=f"rows wanted; default {_SIZE}"
    )
    parser.add_argument("--json", action="store_true", help="print what was sampled as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.evaluation.audits.sampling import draw_sample
    from scp_ray.evaluation.audits.sheets import check_target, write_sheet
    from scp_ray.evaluation.queries import read_queries
    from scp_ray.serve.reviewing import answer_queries
    from scp_ray.serve.searcher import LocalSearcher

    if args.size < 1:
        message = f"--size is {args.size}, but a sheet has at least one row"
        raise ConfigError(message)
    check_target(args.out)
    queries = read_queries(args.queries)
    answers = answer_queries(LocalSearcher.open(args.index, settings), queries, tell)
    drawn = draw_sample(answers, args.size)
    write_sheet(args.out, drawn)
    strata = sorted({(one.answer.stratum, one.stratum_size) for one in drawn})
    counts = {name: sum(one.answer.stratum == name for one in drawn) for name, _ in strata}
    if args.json:
        sizes = [{"stratum": name, "rows": counts[name], "results": n} for name, n in strata]
        show_json({"file": str(args.out), "rows": len(drawn), "strata": sizes})
    else:
        show(f"{args.out}: {len(drawn)} of {len(answers)} results of {len(queries)} questions")
        for name, size in strata:
            show(f"  {name:<16} {counts[name]:>6} of {size}")
    return ExitCode.DONE
