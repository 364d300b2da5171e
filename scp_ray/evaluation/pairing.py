"""What every measure over a query file needs: complete pairs, and means."""

import math
from collections.abc import Mapping, Sequence

from scp_ray.errors import QueriesFormatError
from scp_ray.evaluation.queries import Query


def require_pairs(queries: Sequence[Query], answers: Mapping[str, object], kind: str) -> None:
    """Check that there are questions, that each has evidence, and that answers pair up with them.

    Args:
        queries: Questions with their evidence.
        answers: What one system gave to each question, by query_id.
        kind: What the answers are, for messages.

    Raises:
        QueriesFormatError: If there is no question, or one has no evidence.
        ValueError: If a question has no answer, or an answer no question.
    """
    if not queries:
        message = "there is no query to evaluate"
        raise QueriesFormatError(message)
    unpaired = {query.query_id for query in queries} ^ answers.keys()
    if unpaired:
        message = f"queries and {kind} do not pair up: {', '.join(sorted(unpaired))}"
        raise ValueError(message)
    for query in queries:
        if not query.relevant:
            message = f"query {query.query_id!r} has no relevant span, so it cannot be scored"
            raise QueriesFormatError(message)


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return math.fsum(values) / len(values)
