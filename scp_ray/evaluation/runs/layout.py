"""Lays out an evaluation: a summary for terminals, and the whole of it for a page."""

from collections.abc import Iterable
from typing import Final

from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.content import Cells, Plot, Report, Section, Table
from scp_ray.evaluation.paired import PairedDifference
from scp_ray.evaluation.report import LESS_IS_BETTER, NEITHER_IS_BETTER
from scp_ray.evaluation.runs.comparison import Comparison
from scp_ray.evaluation.runs.explanation import explained_sections
from scp_ray.evaluation.runs.files import timings_of
from scp_ray.evaluation.runs.places import places_section
from scp_ray.evaluation.runs.record import EvaluationRun
from scp_ray.evaluation.runs.sweep_plots import sweep_section

_OF_CONTEXTS: Final = ("evidence_", "context_")
_NO_SHARES: Final = ("context_documents", "context_tokens")
_LARGE: Final = 10.0
_PLOTTED: Final = ("hit@1", "hit@3", "hit@5", "hit@10", "mrr@10", "ndcg@10", "map@10", "doc@1")
_INTERVALS: Final = "Intervals are of 95 %, by a bootstrap over the questions."

_SIGN_TEST: Final = (
    "p is of the sign test over the questions that differ. One in twenty metrics has p < 0.05 "
    "where nothing changed."
)


def summarize_run(run: EvaluationRun, comparison: Comparison | None) -> Report:
    """Return the figures of an evaluation, and the differences from an earlier one."""
    return Report("Evaluation", _subtitle(run), tuple(_figures(run, comparison)))


def report_run(run: EvaluationRun, comparison: Comparison | None) -> Report:
    """Return all that a page shows of an evaluation."""
    sections = [
        *_figures(run, comparison),
        *(sweep_section(sweep, len(run.asked)) for sweep in run.sweeps),
        places_section(run),
        *explained_sections(run),
        _settings(run),
        _timings(run),
    ]
    return Report("How often the right passage is found", _subtitle(run), tuple(sections))


def _subtitle(run: EvaluationRun) -> str:
    return (
        f"{run.index} generation {run.generation}, {len(run.asked)} questions of "
        f"{run.queries_file}, encoder {run.encoder}"
    )


def _figures(run: EvaluationRun, comparison: Comparison | None) -> Iterable[Section]:
    lines = tuple((name, run.intervals[name]) for name in _PLOTTED)
    yield Section(
        "Results",
        ("Ten results a question. Less is better in redundancy.", _INTERVALS),
        Plot("Shares and mean reciprocal ranks", lines),
        _metrics(run, of_contexts=False),
    )
    if run.evidence is not None:
        shares = tuple(
            (name, value)
            for name, value in run.intervals.items()
            if name.startswith(_OF_CONTEXTS) and not name.startswith(_NO_SHARES)
        )
        yield Section(
            f"Contexts of at most {run.budget} tokens",
            ("Less is better in redundancy and tokens.",),
            Plot("Evidence in contexts", shares),
            _metrics(run, of_contexts=True),
        )
    if comparison is not None:
        yield _against(comparison)


def _metrics(run: EvaluationRun, *, of_contexts: bool) -> Table:
    rows = tuple(
        (name, *_cells(value))
        for name, value in run.intervals.items()
        if name.startswith(_OF_CONTEXTS) == of_contexts
    )
    return Table(("metric", "mean", "95 % interval"), rows)


def _against(comparison: Comparison) -> Section:
    earlier = comparison.earlier
    what = (
        f"This evaluation minus that of {earlier.index} generation {earlier.generation} in "
        f"{earlier.folder}, over the same questions. An interval that holds 0 is noise."
    )
    notes = [what, _SIGN_TEST]
    if comparison.left_out:
        notes.append(f"Only one of the two has {', '.join(comparison.left_out)}.")
    rows = tuple(
        (
            name,
            f"{found.mean:+.4f}",
            f"{found.low:+.4f} to {found.high:+.4f}",
            f"{found.p_value:.3g}",
            str(found.num_better),
            str(found.num_worse),
            _verdict(name, found),
        )
        for name, found in comparison.differences.items()
    )
    columns = ("metric", "difference", "95 % interval", "p", "more", "less", "verdict")
    return Section("Against the earlier evaluation", tuple(notes), None, Table(columns, rows))


def _verdict(name: str, found: PairedDifference) -> str:
    if found.num_better == found.num_worse == 0:
        return "same"
    if found.is_noise:
        return "noise"
    if name.startswith(NEITHER_IS_BETTER):
        return "more" if found.mean > 0.0 else "fewer"
    is_less_better = name.startswith(LESS_IS_BETTER)
    return "better" if (found.mean > 0.0) != is_less_better else "worse"


def _settings(run: EvaluationRun) -> Section:
    rows = tuple(
        (f"{section}.{name}", str(value))
        for section, values in run.settings.items()
        for name, value in values.items()
    )
    note = f"Questions and evidence have SHA-256 {run.fingerprint}."
    return Section("Settings", (note,), None, Table(("setting", "value"), rows, 0, frozenset({1})))


def _timings(run: EvaluationRun) -> Section:
    rows = tuple(
        (step, f"{times['median']:.1f}", f"{times['p95']:.1f}")
        for step, times in timings_of(run).items()
    )
    note = "Milliseconds of a question, one after another in one process."
    return Section("Time", (note,), None, Table(("step", "median", "95 % within"), rows))


def _cells(value: Interval) -> Cells:
    digits = 1 if value.point >= _LARGE else 4
    return f"{value.point:.{digits}f}", f"{value.low:.{digits}f} to {value.high:.{digits}f}"
