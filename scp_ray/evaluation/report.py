"""Names and rounds the figures of evaluations, ready for JSON."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from scp_ray.evaluation.evidence import EvidenceReport
from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.metrics import EvaluationReport
from scp_ray.evaluation.paired import PairedDifference
from scp_ray.evaluation.pairing import mean

Figures: TypeAlias = dict[str, int | float]

LESS_IS_BETTER: Final = ("redundancy@", "context_redundancy", "context_tokens")
"""How the names of metrics begin of which less is better."""
NEITHER_IS_BETTER: Final = ("documents@", "context_documents")
"""How the names of metrics begin that say how answers are, and not how good."""

FILE_DIGITS: Final = 6
"""Digits after the point of the figures that files keep."""
_DIGITS: Final = 4


def figures(report: EvaluationReport) -> Figures:
    """Return the metrics of one system by name, JSON-ready, rounded to four digits.

    The names are ``n`` (questions) and those of ``scp_ray.evaluation.metrics``.
    """
    return {"n": len(report.outcomes), **_rounded_means(report.values())}


def evidence_figures(report: EvidenceReport, budget: int) -> Figures:
    """Return the measures of contexts of at most ``budget`` tokens by name, as ``figures`` does.

    The names are those of ``at_budget``.
    """
    columns = at_budget(report, budget)
    num_tokens = mean(columns["context_tokens"])
    return {**_rounded_means(columns), "context_tokens": round(num_tokens, 1)}


def at_budget(report: EvidenceReport, budget: int) -> dict[str, list[float]]:
    """Return what each question counts, with the budget in the names: ``evidence_recall@1000``.

    The names are those of ``scp_ray.evaluation.evidence``; those of evidence say the budget.
    """
    return {
        f"{name}@{budget}" if name.startswith("evidence_") else name: values
        for name, values in report.values().items()
    }


def interval_tree(value: Interval) -> dict[str, float]:
    """Return a mean with its interval, JSON-ready, rounded to six digits."""
    return {
        "mean": round(value.point, FILE_DIGITS),
        "low": round(value.low, FILE_DIGITS),
        "high": round(value.high, FILE_DIGITS),
    }


def difference_tree(one: PairedDifference) -> dict[str, int | float]:
    """Return a paired difference, JSON-ready: the mean and its interval rounded to six digits.

    The p-value keeps four significant digits, so that none becomes 0.
    """
    return {
        "mean": round(one.mean, FILE_DIGITS),
        "low": round(one.low, FILE_DIGITS),
        "high": round(one.high, FILE_DIGITS),
        "num_better": one.num_better,
        "num_worse": one.num_worse,
        "p_value": float(f"{one.p_value:.4g}"),
    }


def _rounded_means(values: Mapping[str, Sequence[float]]) -> Figures:
    return {name: round(mean(column), _DIGITS) for name, column in values.items()}
