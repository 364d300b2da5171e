"""Asks the questions of an evaluation again with one setting at several values."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from scp_ray.config import Settings
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.runs.record import Sweep, SweepPoint
from scp_ray.serve.measuring import measure_searcher
from scp_ray.serve.searcher import LocalSearcher

MOST_QUESTIONS: Final = 100
_SEED: Final = 0


class _Plan(NamedTuple):
    """A sweep: the name of a setting in a question, its values, and the metrics that are shown."""

    title: str
    setting: str
    name: str
    values: tuple[float, ...]
    metrics: tuple[str, ...]


_BUDGET: Final = _Plan(
    "Evidence against the budget",
    "context.max_tokens",
    "max_context_tokens",
    (250, 500, 1000, 2000, 4000),
    ("evidence_recall", "evidence_precision"),
)
_SETTINGS: Final = (
    _Plan(
        "Redundancy and coverage against the gap",
        "retrieval.min_index_gap",
        "min_index_gap",
        (1, 2, 3, 4, 5),
        ("redundancy@10", "coverage@10"),
    ),
    _Plan(
        "Weight of position",
        "retrieval.position_weight",
        "position_weight",
        (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
        ("hit@1", "mrr@10"),
    ),
    _Plan(
        "Weight of the words",
        "retrieval.lexical_weight",
        "lexical_weight",
        (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        ("hit@1", "mrr@10"),
    ),
)


def sweep_settings(
    searcher: LocalSearcher,
    queries: Sequence[Query],
    settings: Settings,
    progress: Callable[[str], None],
    *,
    budget: int,
) -> tuple[Sweep, ...]:
    """Ask at most a hundred of the questions at each value of budget, gap and both weights.

    Where there are more, those that are asked are drawn at random with a fixed seed. The value in
    force is always among the values.

    Args:
        searcher: The open index.
        queries: Questions with their evidence.
        settings: What the searcher was opened with.
        progress: Told a line for each value.
        budget: The budget in force; 0 = none.

    Raises:
        ConfigError: If a question cannot be asked of this index.
    """
    sample = draw_questions(queries)
    remembering = searcher.remembering()
    retrieval = settings.retrieval.model_dump()
    in_force = {_BUDGET: float(budget)} | {plan: float(retrieval[plan.name]) for plan in _SETTINGS}
    return tuple(
        Sweep(
            plan.title,
            plan.setting,
            value,
            tuple(_points(remembering, sample, plan, value, progress)),
        )
        for plan, value in in_force.items()
    )


def draw_questions(queries: Sequence[Query]) -> list[Query]:
    """Return at most a hundred of the questions, in their order; the same each time."""
    if len(queries) <= MOST_QUESTIONS:
        return list(queries)
    places = random.Random(_SEED).sample(range(len(queries)), MOST_QUESTIONS)  # noqa: S311
    return [queries[place] for place in sorted(places)]


def _points(
    searcher: LocalSearcher,
    queries: Sequence[Query],
    plan: _Plan,
    in_force: float,
    progress: Callable[[str], None],
) -> Iterable[SweepPoint]:
    is_budget = plan is _BUDGET
    values = sorted({*plan.values, *([in_force] if in_force or not is_budget else [])})
    for number, value in enumerate(values, 1):
        is_whole = isinstance(plan.values[0], int)
        asked = int(value) if is_whole else value
        measured = measure_searcher(
            searcher,
            queries,
            _tell_nobody,
            budget=int(value) if is_budget else 0,
            changes={} if is_budget else {plan.name: asked},
        )
        report = measured.evidence if is_budget and measured.evidence else measured.ranking
        columns = report.values()
        yield SweepPoint(float(value), {name: columns[name] for name in plan.metrics})
        progress(f"{plan.title.lower()}: {number}/{len(values)} values")


def _tell_nobody(_line: str) -> None:
    """Leave out how far a single value is."""
