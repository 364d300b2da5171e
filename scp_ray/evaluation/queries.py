"""Reads query files: JSONL rows ``{query_id, query, relevant: [{doc_id, char_start, char_end}]}``.

A row may have a reference ``answer``. Further keys are ignored, and so are blank lines.
``docs/data-formats.md`` describes the format.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
        where: File and line, for messages.
        answer: A reference answer; None where the row has none, or a blank one.
    """

    query_id: str
    query: str
    relevant: tuple[RelevantSpan, ...]
    where: str = field(default="", compare=False)
    answer: str | None = None


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
            query = replace(_parse_query(line), where=f"{path}, line {number}")
            if query.query_id in queries:
                _refuse(f"query_id {query.query_id!r} was used before")
        except QueriesFormatError as error:
            message = f"{path}, line {number}: {error}"
            raise QueriesFormatError(message) from error
        queries[query.query_id] = query
    if not queries:
        _refuse(f"{path}: no query in this file")
    return list(queries.values())


def check_spans(queries: Sequence[Query], num_characters: Mapping[str, int], index: str) -> None:
    """Check that every question has evidence, and that it lies in the documents of the index.

    Args:
        queries: Questions of a file.
        num_characters: Length of each document's text by doc_id.
        index: The index, for messages.

    Raises:
        QueriesFormatError: If a question has no relevant span, or one with an unknown doc_id or
            outside the text; the line is named.
    """
    for query in queries:
        if not query.relevant:
            _refuse(f"{query.where}: {query.query_id!r} has no relevant span to score by")
        for place, span in enumerate(query.relevant):
            where = f"{query.where}: relevant[{place}]"
            if span.doc_id not in num_characters:
                _refuse(f"{where}: doc_id {span.doc_id!r} is not in {index}")
            if span.char_end > num_characters[span.doc_id]:
                _refuse(
                    f"{where}: the span {span.char_start}-{span.char_end} is outside the text of "
                    f"{span.doc_id!r}, which has {num_characters[span.doc_id]} characters"
                )


def fingerprint(queries: Sequence[Query]) -> str:
    """Return the SHA-256 of questions and evidence, as hexadecimal digits.

    It depends on their order, and not on how the file is laid out or on further keys.
    """
    rows = [
        [
            query.query_id,
            query.query,
            [[s.doc_id, s.char_start, s.char_end] for s in query.relevant],
        ]
        for query in queries
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise QueriesFormatError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: not UTF-8 at byte {error.start}"
        raise QueriesFormatError(message) from error
    except ValueError as error:  # a name that no file can have
        message = f"cannot read {str(path)!r}: {error}"
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
        answer=_answer(row),
    )


def _answer(row: dict[str, Any]) -> str | None:
    if row.get("answer") is None:
        return None
    answer = str(_field(row, "answer", str, "row")).strip()
    _refuse_half_pairs(answer, "row.answer")
    return answer or None


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
    _refuse_half_pairs(value, f"{where}.{key}")
    return value


def _refuse_half_pairs(value: str, where: str) -> None:
    if not value.isprintable() and value != value.encode("utf-8", "replace").decode():
        _refuse(f"{where} has half of a surrogate pair")


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
