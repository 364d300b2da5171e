"""What an audit leaves: figures as JSON, and the report as a page beside them."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from scp_ray.evaluation.audits.ocr_audit import OcrAudit
from scp_ray.evaluation.audits.text_audit import TextAudit
from scp_ray.evaluation.pages.content import Report
from scp_ray.evaluation.pages.page import render_page

FIGURES_FILE: Final = "audit.json"
PAGE_FILE: Final = "audit.html"
_DIGITS: Final = 4


def figures(kind: str, file: str, audit: TextAudit | OcrAudit) -> dict[str, Any]:
    """Return an audit by the names of its fields, ready for JSON, rounded to four digits.

    Args:
        kind: ``text`` or ``ocr``.
        file: What was audited.
        audit: What it came to.
    """
    values: dict[str, Any] = _rounded(asdict(audit))
    return {"audit": kind, "file": file, **values}


def write_results(folder: Path, values: dict[str, Any], report: Report) -> None:
    """Write ``audit.json`` and ``audit.html``; the same audit gives the same bytes.

    Raises:
        OSError: If they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(values, ensure_ascii=False, indent=1) + "\n"
    (folder / FIGURES_FILE).write_text(text, encoding="utf-8")
    (folder / PAGE_FILE).write_text(render_page(report), encoding="utf-8")


def _rounded(value: Any) -> Any:  # noqa: ANN401 - whatever a dataclass holds
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value
