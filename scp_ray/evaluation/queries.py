"""Reads query files: JSONL rows ``{query_id, query, relevant: [{doc_id, char_start, char_end}]}``.

Further keys are ignored, and so are blank lines. ``docs/data-formats.md`` describes the format.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from scp_ray.errors import QueriesFormatError
from scp_ray.evaluation.relevance import RelevantSpan

_TYPE_NAMES = {str: "a string", int: "a whole number", list: "a list"}


@dataclass(frozen=True, slots=True)
class Query:
    """A question and where its answer stands.

    Attributes:
        query_id: Unique in its file.
        query: The question.
        relevant: Evidence; empty where nobody has marked it.
    """

    query_id: str
    query: str
    relevant: tuple[RelevantSpan, ...]


def read_queries(path: Path) -> list[Query]:
    """Read a query file, in its order.

    Raises:
        QueriesFormatError: If the file cannot be read or has no row, or a row is not in the format
            or repeats a query_id; the line is named.
    """
    queries: dict[str, Query] = {}
    for number, line in enumerate(_read_lines(path), 1):
        if not line.strip():
            continue
        try:
            query = _parse_query(line)
            if query.query_id in queries:
                _refuse(f"query_id {query.query_id!r} was used before")
        except QueriesFormatError as error:
            message = f"{path}, line {number}: {error}"
            raise QueriesFormatError(message) from error
        queries[query.query_id] = query
    if not queries:
        _refuse(f"{path}: no query in this file")
    return list(queries.values())


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise QueriesFormatError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: not UTF-8 at byte {error.start}"
        raise QueriesFormatError(message) from error


def _parse_query(line: str) -> Query:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"not JSON: {error}"
        raise QueriesFormatError(message) from error
    query_id, query = _text(row, "query_id", "row"), _text(row, "query", "row")
    spans = _field(row, "relevant", list, "row")
    return Query(
        query_id,
        query,
        tuple(_parse_span(span, f"relevant[{index}]") for index, span in enumerate(spans)),
    )


def _parse_span(span: object, where: str) -> RelevantSpan:
    doc_id = _text(span, "doc_id", where)
    char_start = _field(span, "char_start", int, where)
    char_end = _field(span, "char_end", int, where)
    if char_start < 0:
        _refuse(f"{where}.char_start is negative ({char_start})")
    if char_end <= char_start:
        _refuse(f"{where}.char_end ({char_end}) is not after char_start ({char_start})")
    return RelevantSpan(doc_id, char_start, char_end)


def _text(row: object, key: str, where: str) -> str:
    value: str = _field(row, key, str, where)
    if not value.strip():
        _refuse(f"{where}.{key} is empty")
    if not value.isprintable() and value != value.encode("utf-8", "replace").decode():
        _refuse(f"{where}.{key} has half of a surrogate pair")
    return value


def _field(row: object, key: str, kind: type, where: str) -> Any:  # noqa: ANN401 - a ``kind``
    if not isinstance(row, dict):
        _refuse(f"{where} is not an object")
    if key not in row:
        _refuse(f"{where}.{key} is missing")
    value = row[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        _refuse(f"{where}.{key} is not {_TYPE_NAMES[kind]}: {value!r}")
    return value


def _refuse(message: str) -> NoReturn:
    raise QueriesFormatError(message)
