"""``scp-ray audit ocr``: what ratings of OCR results come to."""

import argparse
from pathlib import Path

from scp_ray.commands.audit_results import publish
from scp_ray.config import Settings

HELP = "audit ratings of OCR results"
DESCRIPTION = """\
Reads ratings (case, slice, rater, score 1 to 5, pass; CSV, JSONL or Parquet) and reports the pass
rate of each slice with 95 % intervals, Fleiss' kappa, the weighted Cohen kappa of each pair of
raters, median scores, and the cases with most disagreement. Exit code 2, with the row and the
reason, when a file is not in the format.
"""
EXAMPLES = """\
examples:
  scp-ray audit ocr ratings.csv
  scp-ray audit ocr ratings.parquet --out report/
  scp-ray audit ocr ratings.jsonl --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", metavar="FILE", type=Path, help="ratings")
    parser.add_argument("--out", metavar="DIR", type=Path, help="also write audit.json, audit.html")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace, _settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.evaluation.audits.ocr_audit import audit_ratings
    from scp_ray.evaluation.audits.ocr_report import report_ocr_audit
    from scp_ray.evaluation.audits.ratings import read_ratings

    audit = audit_ratings(read_ratings(args.file))
    return publish(args, "ocr", audit, report_ocr_audit(audit, args.file.name))
