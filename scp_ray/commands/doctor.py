"""``scp-ray doctor``: is this machine fit to index and to serve?"""

import argparse
from dataclasses import asdict

from scp_ray.commands.terminal import ExitCode, show, show_json
from scp_ray.config import Settings

HELP = "check versions, encoder, store and open Ray ports"
DESCRIPTION = """\
Checks the versions of the libraries, that the encoder loads and what it runs on, that a store
honours conditional writes, and that no Ray port of this machine answers without a token. Exit
code 1 when a check fails.
"""
EXAMPLES = """\
examples:
  scp-ray doctor
  scp-ray doctor --index index/
  scp-ray doctor --index s3://bucket/index
"""
_MARKS = {"ok": "ok  ", "warning": "warn", "failed": "FAIL"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--index", metavar="INDEX", help="also probe the store at this address")
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.pipeline.diagnosis import CheckStatus, diagnose

    checks = list(diagnose(settings, args.index))
    if args.json:
        show_json([asdict(check) for check in checks], indent=1)
    else:
        for check in checks:
            show(f"{_MARKS[check.status]}  {check.name}: {check.detail}")
    failed = any(check.status is CheckStatus.FAILED for check in checks)
    return ExitCode.FAILED if failed else ExitCode.DONE
