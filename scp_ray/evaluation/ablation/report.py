"""Shows an ablation: what wins and what loses, then every study, set by set."""

from typing import Final

from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.grid import StudyCells, differences, factor_values, show_value
from scp_ray.evaluation.ablation.results import COMPARED, CellResult, StudyResults
from scp_ray.evaluation.baselines.selectors import Selector
from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.content import Cells, Line, LinePlot, Report, Section, Table
from scp_ray.evaluation.paired import PairedDifference

_NAMES: Final = {"hit@1": "Hit@1", "mrr@10": "MRR@10", "evidence_recall": "evidence recall"}
_MOST_FACTORS_PLOTTED: Final = 2
_HOW_COMPARED: Final = (
    "Each row is compared with the base of its set on the same questions: mean difference and its "
    "95 % interval (percentile bootstrap over questions, seed 0). An asterisk marks an interval "
    "without 0. Rows that beat the base or lose to it have the p-value of a two-sided sign test "
    "beside it, and ablation.json has all of them."
)
_BY_CHANCE: Final = (
    "The intervals are of one comparison each. Among many rows without any effect one in twenty "
    "is marked by chance."
)
_PAID_TWICE: Final = (
    "The selector top_k pays for text that overlaps each time: its tokens count every repeat, and "
    "its precision and redundancy are of the passages, which have each character once. What the "
    "repeats cost shows in the tokens, and in the evidence that no longer fits the budget."
)


def report_ablation(results: StudyResults, title: str) -> Report:
    """Return the report of an ablation.

    Args:
        results: All cells.
        title: What it is called.
    """
    num_cells = results.grid.num_cells
    subtitle = (
        f"{num_cells} cells on {len(results.results)} sets of questions; encoder {results.encoder}"
    )
    sections = [
        _sets(results),
        _findings(results, "What beats the base", sign=1),
        _findings(results, "What loses to the base", sign=-1),
        *(_study(results, study, name) for study in results.grid.studies for name in study.sets),
        _base(results),
    ]
    return Report(title, subtitle, tuple(sections))


def _sets(results: StudyResults) -> Section:
    rows = []
    for name, facts in results.facts.items():
        base = results.base_of(name)
        counts = (facts.num_documents, facts.num_characters, base.num_chunks, facts.num_questions)
        accuracy = base.signature_accuracy
        shown = "-" if accuracy is None else f"{accuracy:.3f}"
        rows.append((name, *(f"{count:,}" for count in counts), shown, *_means(base)))
    notes = (_HOW_COMPARED, _BY_CHANCE, *([_PAID_TWICE] if _has_plain_contexts(results) else []))
    columns = ("set", "documents", "characters", "chunks", "questions", "true names found")
    table = Table((*columns, *_mean_columns()), tuple(rows))
    return Section("The sets, and the base on them", notes, table=table)


def _findings(results: StudyResults, title: str, *, sign: int) -> Section:
    rows = [
        (
            one.cell.set_name,
            describe(one.cell.setting, results),
            _NAMES[one.metric],
            f"{one.cell.mean(one.metric):.3f}",
            _interval(one.difference),
            f"{one.difference.p_value:.2g}",
        )
        for one in results.findings()
        if sign * one.difference.mean > 0
    ]
    if not rows:
        return Section(title, ("Nothing does.",))
    columns = ("set", "differs in", "metric", "mean", "difference", "p")
    return Section(title, table=Table(columns, tuple(rows), text_columns=frozenset({1, 2})))


def describe(setting: CellSetting, results: StudyResults) -> str:
    """Name a cell by what differs from the base."""
    changed = differences(setting, results.grid.base)
    return ", ".join(f"{name} {show_value(value)}" for name, value in changed.items()) or "base"


def _study(results: StudyResults, study: StudyCells, set_name: str) -> Section:
    cells, base = results.results[set_name], results.grid.base
    names = dict(study.settings)
    if base not in names:
        names = {base: "", **names}
    rows = [_row(results, name, cells[setting]) for setting, name in names.items()]
    compared = [column for metric in COMPARED for column in (_NAMES[metric], "difference")]
    columns = (", ".join(study.factors) or "cell", *compared, "precision", "tokens", "chunks")
    table = Table(columns, tuple(rows))
    return Section(f"{study.name}: {set_name}", plot=_plot(results, study, set_name), table=table)


def _row(results: StudyResults, name: str, cell: CellResult) -> Cells:
    is_base = cell.setting == results.grid.base
    compared = results.compare(cell)
    shown = [
        text
        for metric in COMPARED
        for text in (
            f"{cell.mean(metric):.3f}",
            "base" if is_base else _interval(compared[metric]),
        )
    ]
    precision, num_tokens = cell.mean("evidence_precision"), cell.mean("context_tokens")
    cost = (f"{precision:.3f}", f"{num_tokens:.0f}", f"{cell.num_chunks:,}")
    return (f"{name} (base)".lstrip() if is_base else name, *shown, *cost)


def _plot(results: StudyResults, study: StudyCells, set_name: str) -> LinePlot | None:
    """Draw what a numeric factor gains: in every metric, or a line for each value of another.

    Factors that have one value in the whole study do not count. The base is marked where the study
    has it.
    """
    rows = [(factor_values(one, study.factors), one) for one in study.settings]
    varied = [name for name in study.factors if len({str(values[name]) for values, _ in rows}) > 1]
    numeric = [name for name in varied if all(_is_number(values[name]) for values, _ in rows)]
    if not numeric or len(varied) > _MOST_FACTORS_PLOTTED:
        return None
    x_name = numeric[0]
    others = [name for name in varied if name != x_name]
    cells, base = results.results[set_name], results.grid.base
    lines: dict[str, list[tuple[float, Interval]]] = {}
    for values, setting in rows:
        compared = results.compare(cells[setting])
        for metric in COMPARED[-1:] if others else COMPARED:
            name = f"{others[0]} {show_value(values[others[0]])}" if others else _NAMES[metric]
            difference = compared[metric]
            low, high = min(difference.low, difference.mean), max(difference.high, difference.mean)
            point = Interval(difference.mean, low, high)
            lines.setdefault(name, []).append((float(values[x_name]), point))
    measured = _NAMES[COMPARED[-1]] if others else "difference"
    return LinePlot(
        f"{study.name}, {set_name}: difference to the base",
        x_name,
        f"{measured}, difference to the base" if others else "difference to the base",
        tuple(Line(name, tuple(sorted(points, key=_x))) for name, points in lines.items()),
        float(factor_values(base, [x_name])[x_name]) if base in study.settings else None,
    )


def _base(results: StudyResults) -> Section:
    rows = [(name, show_value(value)) for name, value in results.grid.base.model_dump().items()]
    table = Table(("factor", "base"), tuple(rows), text_columns=frozenset({1}))
    return Section("The base", table=table)


def _means(cell: CellResult) -> list[str]:
    return [f"{cell.mean(metric):.3f}" for metric in COMPARED]


def _mean_columns() -> list[str]:
    return [_NAMES[metric] for metric in COMPARED]


def _interval(difference: PairedDifference) -> str:
    mark = "" if difference.is_noise else " *"
    return f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]{mark}"


def _has_plain_contexts(results: StudyResults) -> bool:
    settings = (one for cells in results.grid.cells.values() for one in cells)
    return any(one.selector is Selector.TOP_K for one in settings)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _x(point: tuple[float, Interval]) -> float:
    return point[0]
