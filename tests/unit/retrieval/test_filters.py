"""Filters: their shapes and what they match."""

from typing import Any

import numpy as np
import pytest

from scp_ray.errors import ConfigError
from scp_ray.retrieval.filters import allowed_rows, parse_filter
from scp_ray.testing.exact_index import ExactIndex

SHARD = ExactIndex(
    {"a": np.eye(2, dtype=np.float32), "b": np.eye(2, dtype=np.float32)},
    dim=2,
    fields={
        "cnm.category": ["pump", "pump", None, "valve"],
        "cnm.model": ["225B", None, "225B", "300"],
        "metadata.year": [2019, 2019, 2021.5, 2021.5],
        "metadata.draft": [True, True, False, False],
        "metadata.date": ["2019-01-02", "2019-01-02", "2021-06-01", "2021-06-01"],
        "metadata.one": [1, True, "1", 1.0],
    },
)


def matching(given: Any) -> list[int]:
    return np.flatnonzero(allowed_rows(parse_filter(given), SHARD)).tolist()


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({}, [0, 1, 2, 3]),
        ({"doc_id": "b"}, [2, 3]),
        ({"doc_id": ["a", "c"]}, [0, 1]),
        ({"cnm.category": "pump"}, [0, 1]),
        ({"cnm.model": ["225B", "300"]}, [0, 2, 3]),
        ({"cnm.category": "pump", "cnm.model": "225B"}, [0]),
        ({"metadata.year": 2019}, [0, 1]),
        ({"metadata.year": {"gte": 2019, "lt": 2021.5}}, [0, 1]),
        ({"metadata.year": {"gt": 2019, "lte": 2021.5}}, [2, 3]),
        ({"metadata.date": {"gte": "2020"}}, [2, 3]),
        ({"metadata.draft": True}, [0, 1]),
        ({"metadata.draft": [True, False]}, [0, 1, 2, 3]),
        ({"metadata.one": 1}, [0, 3]),
        ({"metadata.one": True}, [1]),
        ({"metadata.one": "1"}, [2]),
        ({"metadata.one": {"gte": 0}}, [0, 3]),
        ({"metadata.year": "2019"}, []),
        ({"metadata.unknown": "x"}, []),
        ({"metadata.unknown": {"gte": 0}}, []),
        ({"doc_id": []}, []),
    ],
)
def test_rows_that_match(given: Any, rows: list[int]) -> None:
    assert matching(given) == rows


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["doc_id"], "expected a map from fields"),
        ({"title": "x"}, "unknown field 'title'"),
        ({"metadata.": "x"}, r"unknown field 'metadata\.'"),
        ({3: "x"}, "unknown field 3"),
        ({"doc_id": None}, "doc_id expects strings, numbers or booleans"),
        ({"doc_id": [["a"]]}, "doc_id expects strings, numbers or booleans"),
        ({"metadata.year": {}}, r"metadata\.year expects a range of gte, gt, lte, lt"),
        ({"metadata.year": {"over": 3}}, r"metadata\.year expects a range"),
        ({"metadata.year": {"gte": [3]}}, r"metadata\.year expects strings"),
        ({"metadata.year": {"gte": 3, "lt": "x"}}, r"metadata\.year mixes kinds"),
    ],
)
def test_other_shapes_are_refused_by_name(given: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_filter(given)
