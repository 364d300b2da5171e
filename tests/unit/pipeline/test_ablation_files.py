"""The files that an ablation leaves."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from scp_ray.config import Settings
from scp_ray.evaluation.ablation.config import checked_setting, product_setting
from scp_ray.evaluation.ablation.grid import Grid
from scp_ray.evaluation.ablation.report import report_ablation
from scp_ray.evaluation.ablation.results import CellResult, SetFacts, StudyResults
from scp_ray.pipeline.ablation_files import write_results


def _results() -> StudyResults:
    base = checked_setting(product_setting(Settings()), "base")
    names = ("hit@1", "mrr@10", "evidence_recall", "evidence_precision", "context_tokens")
    cell = CellResult("k", "<set>", base, ("q",), 3, None, {name: [0.5] for name in names})
    facts = {"<set>": SetFacts("f", 1, 10, 1)}
    return StudyResults(Grid(base, (), {"<set>": (base,)}), facts, {"<set>": {base: cell}}, "e")


def test_figures_questions_page_and_markdown_are_written(tmp_path: Path) -> None:
    results = _results()
    tree = write_results(str(tmp_path), results, report_ablation(results, "Study <1>"))
    assert json.loads((tmp_path / "ablation.json").read_text()) == tree
    assert pq.read_table(tmp_path / "cells.parquet").to_pylist()[0]["hit@1"] == 0.5
    assert "Study &lt;1&gt;" in (tmp_path / "ablation.html").read_text()
    assert (tmp_path / "ablation.md").read_text().startswith("# Study \\<1\\>\n")


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    results = _results()
    for name in ("a", "b"):
        write_results(str(tmp_path / name), results, report_ablation(results, "Study"))
    files = ("ablation.json", "ablation.html", "ablation.md", "cells.parquet")
    first, second = ([(tmp_path / one / name).read_bytes() for name in files] for one in "ab")
    assert first == second
