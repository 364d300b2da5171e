"""What a reader of an ablation sees."""

from collections.abc import Callable
from dataclasses import replace

from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.grid import StudyCells
from scp_ray.evaluation.ablation.report import describe, report_ablation
from scp_ray.evaluation.ablation.results import StudyResults
from scp_ray.evaluation.pages.content import LinePlot, Section


def _sections(results: StudyResults) -> dict[str, Section]:
    return {section.title: section for section in report_ablation(results, "Gaps").sections}


def test_what_wins_and_what_loses_comes_first(
    ablation_results: Callable[..., StudyResults],
) -> None:
    sections = _sections(ablation_results())
    better, worse = sections["What beats the base"].table, sections["What loses to the base"].table
    assert better
    assert [row[:4] for row in better.rows] == [("small", "min_index_gap 1", "Hit@1", "1.000")]
    assert better.rows[0][4].startswith("+0.500 [+0.3")
    assert better.rows[0][4].endswith("*")
    assert float(better.rows[0][5]) < 1e-5
    assert worse
    assert [row[1] for row in worse.rows] == ["min_index_gap 3"]


def test_a_study_has_a_row_a_value_with_the_base_marked(
    ablation_results: Callable[..., StudyResults],
) -> None:
    table = _sections(ablation_results())["Gap: small"].table
    assert table
    assert [row[0] for row in table.rows] == ["1", "2 (base)", "3"]
    assert [row[2] for row in table.rows][1] == "base"
    assert table.rows[0][4] == "+0.000 [+0.000, +0.000]"
    assert table.rows[0][-1] == "12"
    assert table.columns[0] == "min_index_gap"


def test_a_numeric_factor_is_drawn(ablation_results: Callable[..., StudyResults]) -> None:
    plot = _sections(ablation_results())["Gap: small"].plot
    assert isinstance(plot, LinePlot)
    assert plot.marked_x == 2.0
    hits = {line.name: line.points for line in plot.lines}["Hit@1"]
    assert [(x, value.point) for x, value in hits] == [(1.0, 0.5), (2.0, 0.0), (3.0, -0.5)]


def test_the_base_is_called_so(ablation_results: Callable[..., StudyResults]) -> None:
    results = ablation_results()
    assert describe(results.grid.base, results) == "base"
    table = _sections(results)["The base"].table
    assert table
    assert ("min_index_gap", "2") in table.rows
    sets = _sections(results)["The sets, and the base on them"].table
    assert sets
    assert sets.rows[0][:6] == ("small", "3", "4,500", "12", "40", "0.750")


def _with_gap_study(
    results: StudyResults, factors: tuple[str, ...], settings: dict[CellSetting, str]
) -> StudyResults:
    base = results.base_of("small")
    cells = {one: replace(base, key=name, setting=one) for one, name in settings.items()}
    study = StudyCells("Crossed", factors, ("small",), settings)
    grid = replace(results.grid, studies=(study,))
    return replace(results, grid=grid, results={"small": {**results.results["small"], **cells}})


def test_a_factor_with_one_value_takes_no_place_in_a_plot(
    ablation_results: Callable[..., StudyResults], setting: Callable[..., CellSetting]
) -> None:
    crossed = {
        setting(selector="merge", min_index_gap=gap, overlap_tokens=overlap): f"{gap}, {overlap}"
        for gap in (1, 2)
        for overlap in (0, 50)
    }
    factors = ("selector", "min_index_gap", "overlap_tokens")
    results = _with_gap_study(ablation_results(), factors, crossed)
    plot = _sections(results)["Crossed: small"].plot
    assert isinstance(plot, LinePlot)
    assert plot.x_name == "min_index_gap"
    assert [line.name for line in plot.lines] == ["overlap_tokens 0", "overlap_tokens 50"]
    assert plot.marked_x is None  # the base has another selector


def test_factors_without_several_numbers_are_not_drawn(
    ablation_results: Callable[..., StudyResults], setting: Callable[..., CellSetting]
) -> None:
    selectors = {setting(selector=name, overlap_tokens=100): name for name in ("gap", "mmr")}
    results = _with_gap_study(ablation_results(), ("selector", "overlap_tokens"), selectors)
    assert _sections(results)["Crossed: small"].plot is None


def test_one_varied_factor_is_drawn_in_every_metric(
    ablation_results: Callable[..., StudyResults], setting: Callable[..., CellSetting]
) -> None:
    lengths = {setting(top_k=number, budget_tokens=0): str(number) for number in (1, 5)}
    results = _with_gap_study(ablation_results(), ("top_k", "budget_tokens"), lengths)
    plot = _sections(results)["Crossed: small"].plot
    assert isinstance(plot, LinePlot)
    assert [line.name for line in plot.lines] == ["Hit@1", "MRR@10", "evidence recall"]
