"""``scp-ray audit text``: what reviews of texts come to."""

import argparse
from pathlib import Path

from scp_ray.commands.audit_results import publish
from scp_ray.config import Settings

HELP = "audit reviews of texts"
DESCRIPTION = """\
Reads reviews (id, rating 1 to 5, labels, flags, narrative, template, stratum, reviewer; CSV, JSONL
or Parquet) and reports the ratings, projected from the fully labelled reviews to all with 95 %
intervals, whether flags agree with the narratives, the issues and which come together, and strata,
templates and reviewers. With --index, reviews of that index's results are checked against its
documents first. Exit code 2, with the row and the reason, when a file is not in the format.
"""
EXAMPLES = """\
examples:
  scp-ray audit text reviews.csv
  scp-ray audit text reviews.parquet --out report/
  scp-ray audit text sheet.csv --index index/ --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", metavar="FILE", type=Path, help="reviews")
    parser.add_argument("--index", metavar="INDEX", help="the index whose results were reviewed")
    parser.add_argument("--out", metavar="DIR", type=Path, help="also write audit.json, audit.html")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace, _settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.evaluation.audits.reviews import check_spans, read_reviews
    from scp_ray.evaluation.audits.text_audit import audit_reviews
    from scp_ray.evaluation.audits.text_report import report_text_audit

    reviews = read_reviews(args.file)
    if args.index is not None:
        from scp_ray.serve.reviewing import document_lengths

        check_spans(reviews, document_lengths(args.index), args.index)
    audit = audit_reviews(reviews)
    return publish(args, "text", audit, report_text_audit(audit, args.file.name))
