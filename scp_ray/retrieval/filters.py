"""Filters over the rows of a shard: parsing of the contract's ``filter`` and its evaluation.

A filter is a map from a field (``doc_id``, ``cnm.category``, ``cnm.model``, ``metadata.<key>``)
to a value, a list of values, or a range ``{gte, gt, lte, lt}``. All conditions must hold. A field
that a row lacks matches nothing. Strings, numbers and booleans are three kinds: values of
different kinds are never equal and never ordered.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from scp_ray.errors import ConfigError
from scp_ray.records import MetadataValue
from scp_ray.retrieval.candidates import BoolArray

FIELDS = ("doc_id", "cnm.category", "cnm.model")
METADATA_PREFIX = "metadata."
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "gte": operator.ge,
    "gt": operator.gt,
    "lte": operator.le,
    "lt": operator.lt,
}


class FilterColumn(NamedTuple):
    """A field over the rows of a shard, each distinct value once.

    Attributes:
        values: Values that occur; None where a row lacks the field.
        codes: For each row the place of its value in ``values``, shape (num_chunks,).
    """

    values: Sequence[MetadataValue | None]
    codes: npt.NDArray[np.integer]


class FilterableShard(Protocol):
    """A shard whose rows have the fields of a filter."""

    num_chunks: int

    def filter_column(self, field: str) -> FilterColumn:
        """Return a field over all rows; a metadata key that no document has is None throughout."""
        ...


@dataclass(frozen=True, slots=True)
class Condition:
    """One field's condition: any of some values, each with its kind, or all bounds of a range."""

    field: str
    any_of: frozenset[tuple[type, MetadataValue]]
    bounds: tuple[tuple[str, MetadataValue], ...] = ()

    def matches(self, value: MetadataValue | None) -> bool:
        """Whether a value of the field satisfies the condition; None never does."""
        if value is None:
            return False
        if not self.bounds:
            return (_kind(value), value) in self.any_of
        return all(
            _kind(value) is _kind(bound) and _COMPARISONS[name](value, bound)
            for name, bound in self.bounds
        )


def parse_filter(given: object) -> tuple[Condition, ...]:
    """Read a filter as it came from JSON.

    Raises:
        ConfigError: If it is not of the documented shape; the field is named.
    """
    if not isinstance(given, Mapping):
        message = f"filter: expected a map from fields to conditions, got {given!r}"
        raise ConfigError(message)
    return tuple(_parse_condition(field, wanted) for field, wanted in given.items())


def allowed_rows(conditions: Sequence[Condition], shard: FilterableShard) -> BoolArray:
    """Return which rows of a shard satisfy all conditions, shape (num_chunks,)."""
    allowed = np.ones(shard.num_chunks, dtype=np.bool_)
    for condition in conditions:
        values, codes = shard.filter_column(condition.field)
        matching = np.array([condition.matches(value) for value in values], dtype=np.bool_)
        allowed &= matching[codes]
    return allowed


def _parse_condition(field: object, wanted: object) -> Condition:
    if not isinstance(field, str) or not (
        field in FIELDS or field.removeprefix(METADATA_PREFIX) not in ("", field)
    ):
        message = f"filter: unknown field {field!r}; known are {', '.join(FIELDS)}, metadata.<key>"
        raise ConfigError(message)
    if isinstance(wanted, Mapping):
        return Condition(field, frozenset(), _parse_range(field, wanted))
    given = wanted if isinstance(wanted, list | tuple) else [wanted]
    values = (_parse_value(field, value) for value in given)
    return Condition(field, frozenset((_kind(value), value) for value in values))


def _parse_range(
    field: str, wanted: Mapping[object, object]
) -> tuple[tuple[str, MetadataValue], ...]:
    if not wanted or not set(wanted) <= set(_COMPARISONS):
        names = ", ".join(_COMPARISONS)
        message = f"filter: {field} expects a range of {names}; got {dict(wanted)!r}"
        raise ConfigError(message)
    bounds = tuple((str(name), _parse_value(field, bound)) for name, bound in wanted.items())
    if len({_kind(bound) for _, bound in bounds}) > 1:
        message = f"filter: {field} mixes kinds of values in one range: {dict(wanted)!r}"
        raise ConfigError(message)
    return bounds


def _parse_value(field: str, value: object) -> MetadataValue:
    if not isinstance(value, str | int | float):
        message = (
            f"filter: {field} expects strings, numbers or booleans, a list of them, or a range; "
            f"got {value!r}"
        )
        raise ConfigError(message)
    return value


def _kind(value: MetadataValue) -> type:
    if isinstance(value, bool):
        return bool
    return str if isinstance(value, str) else float
