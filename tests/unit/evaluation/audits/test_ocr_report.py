"""What the report of an OCR audit says."""

from collections.abc import Callable

from scp_ray.evaluation.audits.ocr_audit import audit_ratings
from scp_ray.evaluation.audits.ocr_report import report_ocr_audit
from scp_ray.evaluation.audits.ratings import OcrRating

MakeRatings = Callable[..., list[OcrRating]]


def test_slices_stand_above_all(ratings: MakeRatings) -> None:
    report = report_ocr_audit(audit_ratings(ratings("b", "11") + ratings("a", "55")), "r.csv")
    table = report.sections[0].table
    assert table is not None
    assert [row[0] for row in table.rows] == ["a", "b", "all"]
    assert report.subtitle == "r.csv: 4 ratings of 2 cases by 2 raters, 2 cases rated by all"
    plot = report.sections[0].plot
    assert plot is not None
    assert [name for name, _ in plot.lines] == ["a", "b"]


def test_only_disputed_cases_are_listed(ratings: MakeRatings) -> None:
    report = report_ocr_audit(audit_ratings(ratings("s", "55", "51")), "r.csv")
    table = report.sections[-1].table
    assert table is not None
    assert table.rows == (("s-1", "s", "5 1", "1 of 2", "4.00", "100 %"),)


def test_sections_without_content_are_left_out(ratings: MakeRatings) -> None:
    report = report_ocr_audit(audit_ratings(ratings("s", "5")), "r.csv")
    assert [section.title for section in report.sections] == ["Slices", "Raters"]
