"""Figures and files of an audit."""

import json
from collections.abc import Callable
from pathlib import Path

from scp_ray.evaluation.audits.ocr_audit import audit_ratings
from scp_ray.evaluation.audits.ocr_report import report_ocr_audit
from scp_ray.evaluation.audits.ratings import OcrRating
from scp_ray.evaluation.audits.results import figures, write_results

MakeRatings = Callable[..., list[OcrRating]]


def test_figures_are_json_of_rounded_numbers(ratings: MakeRatings) -> None:
    values = figures("ocr", "r.csv", audit_ratings(ratings("s", "551", "114")))
    assert json.loads(json.dumps(values)) == values
    assert (values["audit"], values["file"]) == ("ocr", "r.csv")
    assert values["overall"]["pass_rate"] == {"point": 0.5, "low": 0.1876, "high": 0.8124}
    assert values["pairs"][1]["weighted_kappa"] == -0.9231
    assert values["cases"][0]["scores"] == {"rater 0": 5, "rater 1": 5, "rater 2": 1}


def test_same_audit_leaves_the_same_bytes(tmp_path: Path, ratings: MakeRatings) -> None:
    audit = audit_ratings(ratings("s", "551", "114"))
    for name in ("one", "two"):
        report = report_ocr_audit(audit, "r.csv")
        write_results(tmp_path / name / "deep", figures("ocr", "r.csv", audit), report)
    for file in ("audit.json", "audit.html"):
        first = (tmp_path / "one" / "deep" / file).read_bytes()
        assert first == (tmp_path / "two" / "deep" / file).read_bytes()
        assert first.endswith(b"\n")
