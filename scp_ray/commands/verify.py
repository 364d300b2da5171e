"""``scp-ray verify``: is everything that was published still whole?"""

import argparse
from dataclasses import asdict

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings

HELP = "check every checksum, count and graph of an index"
DESCRIPTION = """\
Reads every file of every published generation and checks its SHA-256, the counts, that the files
of a shard fit each other, recall@10 on a sample against exact search, and that every vector can be
reached. Changes nothing. Exit code 1 when something is wrong.
"""
EXAMPLES = """\
examples:
  scp-ray verify index/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("--json", action="store_true", help="print the problems as JSON")


def run(args: argparse.Namespace, _settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.pipeline.verification import verify_index
    from scp_ray.storage.opening import open_existing

    problems = verify_index(open_existing(args.index), tell)
    if args.json:
        show_json([asdict(problem) for problem in problems], indent=1)
    else:
        for problem in problems:
            show(f"generation {problem.generation}: {problem.detail}")
        if not problems:
            show("everything is as it was published")
    return ExitCode.FAILED if problems else ExitCode.DONE
