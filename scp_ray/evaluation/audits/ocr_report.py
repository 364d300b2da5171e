"""Lays out the audit of OCR evidence as a report."""

from typing import Final

from scp_ray.evaluation.audits.ocr_audit import OcrAudit, RatedCase, RatedSlice
from scp_ray.evaluation.pages.content import (
    Cells,
    Plot,
    Report,
    Section,
    Table,
    decimal,
    percent,
    percent_range,
    shortened,
)

_MOST_ROWS: Final = 50
_MOST_CASES: Final = 15


def report_ocr_audit(audit: OcrAudit, file: str) -> Report:
    """Return the report of an audit of the file."""
    overall = audit.overall
    subtitle = (
        f"{file}: {overall.num_ratings} ratings of {overall.num_cases} cases by "
        f"{len(audit.raters)} raters, {overall.num_complete} cases rated by all"
    )
    sections = (_slices(audit), _pairs(audit), _raters(audit), _cases(audit))
    shown = tuple(section for section in sections if section is not None)
    return Report("Audit of OCR evidence", subtitle, shown)


def _slices(audit: OcrAudit) -> Section:
    columns = (
        "slice",
        "cases",
        "pass",
        "pass rate",
        "95 % interval",
        "interval by case",
        "kappa of pass",
        "kappa of score",
        "median score",
    )
    notes = (
        "The first interval (Wilson) takes every rating as independent.",
        "The interval by case is as wide as the ratings of one case are alike.",
        "Kappa is Fleiss', over the cases that every rater rated.",
    )
    rows = tuple(_slice_cells(one) for one in (*audit.slices, audit.overall))
    lines = tuple((one.name, one.pass_rate) for one in audit.slices)
    plot = Plot("Pass rate of each slice", lines)
    return Section("Slices", notes, plot, Table(columns, rows))


def _slice_cells(one: RatedSlice) -> Cells:
    return (
        one.name,
        str(one.num_cases),
        f"{one.num_passed} of {one.num_ratings}",
        percent(one.pass_rate),
        percent_range(one.pass_rate),
        percent_range(one.pass_rate_by_case),
        decimal(one.kappa_pass),
        decimal(one.kappa_score),
        f"{one.median_score:g}",
    )


def _pairs(audit: OcrAudit) -> Section | None:
    rows = [
        (
            one.first,
            one.second,
            str(one.num_cases),
            decimal(one.weighted_kappa, 3),
            decimal(one.kappa_pass, 3),
        )
        for one in audit.pairs
    ]
    columns = ("rater", "and", "cases", "weighted kappa of score", "kappa of pass")
    table = shortened(columns, rows, _MOST_ROWS, 1)
    note = "Cohen's kappa; of the scores, disagreement weighs by the squared distance."
    return Section("Pairs of raters", (note,), None, table) if table else None


def _raters(audit: OcrAudit) -> Section:
    rows = [
        (
            one.name,
            str(one.num_ratings),
            percent(one.pass_rate),
            percent_range(one.pass_rate),
            f"{one.median_score:g}",
        )
        for one in audit.raters
    ]
    columns = ("rater", "ratings", "pass rate", "95 % interval", "median score")
    return Section("Raters", (), None, shortened(columns, rows, _MOST_ROWS))


def _cases(audit: OcrAudit) -> Section | None:
    disputed = [one for one in audit.cases if one.spread > 0.0 or one.split > 0.0]
    columns = ("case", "slice", "scores", "pass", "mean distance", "split pairs")
    note = (
        "Scores are in the order of the raters' names. The mean distance is that of two raters' "
        "scores; split pairs disagree whether the case passes."
    )
    table = shortened(columns, [_case_cells(one) for one in disputed], _MOST_CASES, 1, 2)
    return Section("Cases with most disagreement", (note,), None, table) if table else None


def _case_cells(one: RatedCase) -> Cells:
    return (
        one.case,
        one.slice_name,
        " ".join(map(str, one.scores.values())),
        f"{one.num_passed} of {len(one.scores)}",
        decimal(one.spread),
        f"{100 * one.split:.0f} %",
    )
