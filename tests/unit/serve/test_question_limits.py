"""Questions that ask for too much are refused, and those at the limit are not."""

import pytest

from scp_ray.errors import ConfigError
from scp_ray.sections import ServeConfig
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.question_limits import refuse_beyond_limits

LIMITS = ServeConfig(max_query_characters=5, max_top_k=7)


def _filter(num_fields: int, num_values: int) -> dict[str, list[int]]:
    return {f"metadata.{field}": [1] * num_values for field in range(num_fields)}


def test_limits_themselves_are_allowed() -> None:
    request = QueryRequest(query="x" * 5, top_k=7, filter=_filter(100, 100))
    refuse_beyond_limits(request, LIMITS)
    refuse_beyond_limits(QueryRequest(embedding=[1.0]), LIMITS)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (QueryRequest(query="x" * 6), "6 characters in query; at most 5 are taken"),
        (QueryRequest(query="x", top_k=8), "8 results in top_k; at most 7 are taken"),
        (QueryRequest(query="x", filter=_filter(101, 1)), "101 fields in filter; at most 100"),
        (QueryRequest(query="x", filter=_filter(2, 5001)), "10002 values in filter; at most 10000"),
    ],
)
def test_anything_more_is_refused(request_: QueryRequest, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        refuse_beyond_limits(request_, LIMITS)
