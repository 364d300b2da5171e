"""Lays out measured answers as a report."""

from collections.abc import Sequence
from typing import Final

from scp_ray.evaluation.generation.published import CHOP_TABLE_2, differences
from scp_ray.evaluation.generation.scoring import (
    BERT_SCORE,
    GROUNDEDNESS,
    METRICS,
    ROUGE_L,
    SQUAD_F1,
    Measured,
    ScoredAnswer,
    SizeFigures,
    sum_up,
)
from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.content import (
    Cells,
    Line,
    LinePlot,
    Report,
    Section,
    Table,
    decimal,
    shortened,
)

_TITLES: Final = {
    SQUAD_F1: "F1",
    ROUGE_L: "ROUGE-L",
    BERT_SCORE: "BERTScore",
    GROUNDEDNESS: "grounded",
}
_MOST_ROWS: Final = 30
_DIGITS: Final = 3


def report_generation(measured: Measured) -> Report:
    """Return the report of measured answers."""
    setup, num_questions = measured.setup, len(measured.questions)
    subtitle = (
        f"{setup.file}: {num_questions} questions with a reference answer, "
        f"{measured.num_without_answer} without one left out; answers by {setup.model}"
    )
    figures = sum_up(measured.scored)
    shown = (
        _sizes(figures),
        _beside_the_paper(figures, differences(setup, num_questions)),
        _worst(measured),
        _failures(measured.scored),
    )
    return Report("Answers from the passages found", subtitle, tuple(s for s in shown if s))


def _sizes(figures: Sequence[SizeFigures]) -> Section:
    columns = (
        "passages",
        "answered",
        "failed",
        "not stated",
        "not judged",
        *(_TITLES[name] for name in METRICS),
    )
    rows = tuple(
        (
            str(one.num_passages),
            str(one.num_answered),
            str(one.num_failed),
            str(one.num_not_stated),
            str(one.num_unjudged),
            *(_mean_cell(one.means.get(name)) for name in METRICS),
        )
        for one in figures
    )
    lines = tuple(
        Line(
            _TITLES[name],
            tuple((float(o.num_passages), o.means[name]) for o in figures if name in o.means),
        )
        for name in METRICS
        if any(name in one.means for one in figures)
    )
    plot = LinePlot("Scores by number of passages", "passages", "mean", lines) if lines else None
    means = (
        "Means over the questions that were answered, with 95 % intervals by resampling questions."
    )
    counts = (
        "Not stated: the answer says that the passages do not hold it. Not judged: sentences of "
        "which the model did not say whether the passages support them."
    )
    return Section("By number of passages", (means, counts), plot, Table(columns, rows))


def _mean_cell(mean: Interval | None) -> str:
    if mean is None:
        return "-"
    return f"{decimal(mean.point, _DIGITS)} ({decimal(mean.low)} to {decimal(mean.high)})"


def _beside_the_paper(figures: Sequence[SizeFigures], notes: Cells) -> Section:
    paper_columns = (SQUAD_F1, ROUGE_L, BERT_SCORE)
    columns = ("passages", "system", *(_TITLES[name] for name in paper_columns))
    rows: list[tuple[int, Cells]] = [
        (
            one.num_passages,
            ("scp_ray", *(_point(one.means.get(name)) for name in paper_columns)),
        )
        for one in figures
    ]
    rows += [
        (
            row.num_passages,
            (
                f"paper: {row.system}",
                *(decimal(value, 4) for value in (row.token_f1, row.rouge_l, row.bert_score)),
            ),
        )
        for row in CHOP_TABLE_2
    ]
    ordered = sorted(rows, key=lambda row: row[0])
    table = Table(
        columns,
        tuple((str(size), *cells) for size, cells in ordered),
        text_columns=frozenset({1}),
    )
    title = "Beside Table 2 of CHOP (arXiv:2604.15802)"
    return Section(title, notes, table=table)


def _point(mean: Interval | None) -> str:
    return "-" if mean is None else decimal(mean.point, 4)


def _worst(measured: Measured) -> Section | None:
    """Show the answers from the most passages that share fewest words with their references."""
    questions = {one.query_id: one.question for one in measured.questions}
    scored = measured.scored
    most = max((one.answered.num_passages for one in scored), default=0)
    last = [one for one in scored if one.answered.num_passages == most and one.scores]
    ranked = sorted(last, key=lambda one: (one.scores[SQUAD_F1], one.answered.query_id))
    rows = [
        (
            one.answered.query_id,
            decimal(one.scores[SQUAD_F1], _DIGITS),
            decimal(one.scores.get(GROUNDEDNESS), _DIGITS),
            questions[one.answered.query_id],
            one.answered.answer or "",
        )
        for one in ranked
    ]
    columns = ("question", "F1", "grounded", "text", "answer")
    table = shortened(columns, rows, _MOST_ROWS, 3, 4)
    title = f"Answers from {most} passages, lowest F1 first"
    return Section(title, table=table, is_folded=True) if table else None


def _failures(scored: Sequence[ScoredAnswer]) -> Section | None:
    rows = [
        (one.answered.query_id, str(one.answered.num_passages), one.answered.failure)
        for one in scored
        if one.answered.failure is not None
    ]
    table = shortened(("question", "passages", "reason"), rows, _MOST_ROWS, 2)
    return Section("Without an answer", table=table) if table else None
