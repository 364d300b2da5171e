"""An evaluation against an earlier one over the same questions."""

from collections.abc import Mapping
from dataclasses import dataclass

from scp_ray.errors import ConfigError
from scp_ray.evaluation.paired import PairedDifference, paired_difference
from scp_ray.evaluation.queries import Query, fingerprint
from scp_ray.evaluation.runs.record import EvaluationRun, Values


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """What is read of an earlier evaluation's files.

    Attributes:
        folder: Where they are, as it was given.
        index: The index that was asked.
        generation: Its generation.
        fingerprint: SHA-256 of the questions and their evidence.
        questions: Text of each question by query_id, in order.
        values: What each question counts in each metric.
    """

    folder: str
    index: str
    generation: int
    fingerprint: str
    questions: Mapping[str, str]
    values: Values


@dataclass(frozen=True, slots=True)
class Comparison:
    """This evaluation minus the earlier one, over the same questions.

    Attributes:
        earlier: The base.
        differences: By metric, for those that both have.
        left_out: Metrics that only one of them has, such as those of another budget.
    """

    earlier: EarlierRun
    differences: Mapping[str, PairedDifference]
    left_out: tuple[str, ...]


def require_same_questions(queries: list[Query], earlier: EarlierRun) -> None:
    """Check that an earlier evaluation was over these questions.

    Raises:
        ConfigError: If a question or its evidence differs; the first one is named.
    """
    if fingerprint(queries) == earlier.fingerprint:
        return
    here = {query.query_id: query.query for query in queries}
    pairs = zip(here.items(), earlier.questions.items(), strict=False)
    first = next((ours[0] for ours, theirs in pairs if ours != theirs), None)
    if first is not None:
        reason = f"they differ from {first!r} on"
    elif len(here) != len(earlier.questions):
        reason = f"{len(here)} here, {len(earlier.questions)} there"
    else:
        reason = "their evidence differs"
    message = (
        f"{earlier.folder} was measured over other questions ({reason}), so nothing can be paired"
    )
    raise ConfigError(message)


def compare(run: EvaluationRun, earlier: EarlierRun) -> Comparison:
    """Return the paired difference of every metric that both evaluations have."""
    common = [name for name in run.values if name in earlier.values]
    return Comparison(
        earlier,
        {name: paired_difference(earlier.values[name], run.values[name]) for name in common},
        tuple(sorted(run.values.keys() ^ earlier.values.keys())),
    )
