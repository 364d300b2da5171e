"""Names and rounds the figures of evaluation reports, ready for JSON."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from scp_ray.evaluation.evidence import EvidenceReport
from scp_ray.evaluation.metrics import EvaluationReport
from scp_ray.evaluation.pairing import mean

Figures: TypeAlias = dict[str, int | float]

LESS_IS_BETTER: Final = ("redundancy@", "context_redundancy", "context_tokens")
"""How the names of metrics begin of which less is better."""
NEITHER_IS_BETTER: Final = ("documents@", "context_documents")
"""How the names of metrics begin that say how answers are, and not how good."""

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
    rounded = _rounded_means(at_budget(report, budget))
    return {**rounded, "context_tokens": round(report.num_tokens, 1)}


def at_budget(report: EvidenceReport, budget: int) -> dict[str, list[float]]:
    """Return what each question counts, with the budget in the names: ``evidence_recall@1000``.

    The names are those of ``scp_ray.evaluation.evidence``; those of evidence say the budget.
    """
    return {
        f"{name}@{budget}" if name.startswith("evidence_") else name: values
        for name, values in report.values().items()
    }


def _rounded_means(values: Mapping[str, Sequence[float]]) -> Figures:
    return {name: round(mean(column), _DIGITS) for name, column in values.items()}
