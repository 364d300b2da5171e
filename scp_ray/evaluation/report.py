"""Shows evaluation reports of several systems side by side, as text and as JSON."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from scp_ray.evaluation.evidence import EvidenceReport
from scp_ray.evaluation.metrics import CUTOFF, HIT_RANKS, EvaluationReport

Figures: TypeAlias = dict[str, int | float]

_DIGITS: Final = 4


def figures(report: EvaluationReport) -> Figures:
    """Return the metrics of one system by name, JSON-ready, rounded to four digits.

    The names are ``n`` (questions), ``hit@1``, ``hit@3``, ``hit@5``, ``hit@10``, ``mrr@10``,
    ``ndcg@10`` and ``doc@1``.
    """
    metrics = {
        **{f"hit@{k}": report.hit_at(k) for k in HIT_RANKS},
        f"mrr@{CUTOFF}": report.mrr,
        f"ndcg@{CUTOFF}": report.ndcg,
        "doc@1": report.document_at_1,
    }
    rounded = {name: round(value, _DIGITS) for name, value in metrics.items()}
    return {"n": len(report.outcomes), **rounded}


def evidence_figures(report: EvidenceReport, budget: int) -> Figures:
    """Return the measures of contexts of at most ``budget`` tokens by name, as ``figures`` does.

    The names are ``evidence_recall@<budget>``, ``evidence_precision@<budget>`` and
    ``context_tokens``.
    """
    return {
        f"evidence_recall@{budget}": round(report.recall, _DIGITS),
        f"evidence_precision@{budget}": round(report.precision, _DIGITS),
        "context_tokens": round(report.num_tokens, 1),
    }


def render_table(reports: Mapping[str, EvaluationReport]) -> str:
    """Return a text table with a row for each named system and a column for each metric."""
    rows = {name: figures(report) for name, report in reports.items()}
    columns = next(iter(rows.values()))
    width = max(len(name) for name in ["system", *rows])
    head = ["system".ljust(width), *(f"{column:>8}" for column in columns)]
    lines = [" ".join(head)]
    for name, row in rows.items():
        cells = [f"{value:>8.{_DIGITS}f}" for key, value in row.items() if key != "n"]
        lines.append(" ".join([name.ljust(width), f"{row['n']:>8}", *cells]))
    return "\n".join(lines)
