"""How much one question may ask for, beyond its form."""

from scp_ray.errors import ConfigError
from scp_ray.sections import ServeConfig
from scp_ray.serve.models import QueryRequest

MAX_FILTER_FIELDS = 100
MAX_FILTER_VALUES = 10_000


def refuse_beyond_limits(request: QueryRequest, limits: ServeConfig) -> None:
    """Refuse a question that asks for too much.

    A condition of a filter costs a look at every row, and a value one at every distinct value of
    its field, so that their numbers are bounded too.

    Raises:
        ConfigError: If it is too long, wants too many results or has too large a filter.
    """
    given = request.filter or {}
    num_values = sum(len(wanted) for wanted in given.values() if isinstance(wanted, list))
    for name, number, limit in (
        ("characters in query", len(request.query or ""), limits.max_query_characters),
        ("results in top_k", request.top_k or 0, limits.max_top_k),
        ("fields in filter", len(given), MAX_FILTER_FIELDS),
        ("values in filter", num_values, MAX_FILTER_VALUES),
    ):
        if number > limit:
            message = f"{number} {name}; at most {limit} are taken"
            raise ConfigError(message)
