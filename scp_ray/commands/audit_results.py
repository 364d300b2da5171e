"""How an audit of evidence leaves the command: as files, as JSON, or as a summary."""

import argparse
from typing import TYPE_CHECKING

from scp_ray.commands.terminal import ExitCode, show, show_json

if TYPE_CHECKING:
    from scp_ray.evaluation.audits.ocr_audit import OcrAudit
    from scp_ray.evaluation.audits.text_audit import TextAudit
    from scp_ray.evaluation.pages.content import Report


def publish(
    args: argparse.Namespace, kind: str, audit: "TextAudit | OcrAudit", report: "Report"
) -> int:
    """Write and print an audit as ``--out`` and ``--json`` ask, and return the exit code."""
    from scp_ray.evaluation.audits.results import figures, write_results
    from scp_ray.evaluation.pages.summary import render_summary

    values = figures(kind, args.file.name, audit)
    if args.out is not None:
        write_results(args.out, values, report)
    if args.json:
        show_json(values, indent=1)
    else:
        show(render_summary(report))
    return ExitCode.DONE
