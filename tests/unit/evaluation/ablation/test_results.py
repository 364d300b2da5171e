"""Cells beside their base."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.results import StudyResults


@pytest.fixture
def results(ablation_results: Callable[..., StudyResults]) -> StudyResults:
    return ablation_results()


def test_a_cell_is_compared_with_the_base_of_its_set(results: StudyResults) -> None:
    cells = list(results.results["small"].values())
    assert results.compare(cells[0])["hit@1"].mean == 0.0
    assert results.compare(cells[1])["hit@1"].mean == pytest.approx(0.5)
    assert results.compare(cells[2])["hit@1"].mean == pytest.approx(-0.5)


def test_findings_are_what_chance_would_not_give(results: StudyResults) -> None:
    found = [(one.cell.key, one.metric, one.difference.mean > 0) for one in results.findings()]
    assert found == [("better", "hit@1", True), ("worse", "hit@1", False)]


def test_cells_that_agree_are_found_once(
    results: StudyResults, setting: Callable[..., CellSetting]
) -> None:
    better = next(cell for cell in results.results["small"].values() if cell.key == "better")
    twin = replace(better, key="a twin", setting=setting(min_index_gap=1, budget_tokens=9))
    cells = {twin.setting: twin, **results.results["small"]}
    found = replace(results, results={"small": cells}).findings()
    assert [one.cell.key for one in found] == ["better", "worse"]


def test_the_tree_is_json_and_the_same_twice(results: StudyResults) -> None:
    tree = results.to_tree()
    assert json.dumps(tree) == json.dumps(results.to_tree())
    assert tree["cells"]["better"]["differs_in"] == {"min_index_gap": 1}
    assert tree["cells"]["better"]["means"]["hit@1"] == 1.0
    [study] = tree["studies"]
    assert study["cells"] == {"small": {"1": "better", "2": "base", "3": "worse"}}
    assert tree["findings"][0] == {"cell": "better", "metric": "hit@1", "is_better": True}


def test_the_table_has_a_row_for_each_cell_and_question(results: StudyResults) -> None:
    table = results.to_table()
    assert table.num_rows == 3 * 40
    row: dict[str, Any] = table.slice(40, 1).to_pylist()[0]
    assert (row["set"], row["cell"], row["query_id"], row["hit@1"]) == ("small", "better", "q0", 1)
