"""Writes review sheets: CSV, JSONL or Parquet, with blank cells for people to fill in.

``scp_ray.evaluation.audits.reviews`` reads them back; ``docs/audits.md`` describes the columns.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from scp_ray import schema
from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.reviews import STRATUM_SIZE
from scp_ray.evaluation.audits.sampling import Drawn
from scp_ray.evaluation.audits.tables import guarded

_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("id", pa.string()),
    ("query", pa.string()),
    (schema.TEXT, pa.string()),
    ("rating", pa.int64()),
    ("labels", pa.list_(pa.string())),
    ("flags", pa.list_(pa.string())),
    ("narrative", pa.string()),
    ("reviewer", pa.string()),
    ("template", pa.string()),
    ("stratum", pa.string()),
    (STRATUM_SIZE, pa.int64()),
    ("query_id", pa.string()),
    ("rank", pa.int64()),
    (schema.DOC_ID, pa.string()),
    (schema.CHUNK_INDEX, pa.int64()),
    (schema.CHAR_START, pa.int64()),
    (schema.CHAR_END, pa.int64()),
    ("score", pa.float64()),
    ("generation", pa.int64()),
]
SHEET: Final = pa.schema(_COLUMNS)
"""Columns of a sheet; ``rating`` to ``reviewer`` are left blank."""


def check_target(path: Path) -> None:
    """Check that a sheet can be written there.

    Raises:
        ConfigError: If the ending is not one of a sheet, there is no such folder, or there is a
            file already, which may hold somebody's work.
    """
    if path.suffix.lower() not in _WRITERS:
        message = f"{path}: expected a name that ends in {', '.join(_WRITERS)}"
        raise ConfigError(message)
    if not path.parent.is_dir():
        message = f"{path.parent}: no such folder"
        raise ConfigError(message)
    if path.exists():
        message = f"{path} is there already, and may have been filled in; choose another name"
        raise ConfigError(message)


def write_sheet(path: Path, drawn: Sequence[Drawn]) -> None:
    """Write a sheet of the results that were drawn, in their order.

    Raises:
        ConfigError: As ``check_target`` does.
        OSError: If it cannot be written.
    """
    check_target(path)
    content = _WRITERS[path.suffix.lower()]([_row(one) for one in drawn])
    with path.open("xb") as file:
        file.write(content)


def _row(drawn: Drawn) -> dict[str, Any]:
    answer = drawn.answer
    filled = {
        "id": answer.review_id,
        "query": answer.query,
        schema.TEXT: answer.text,
        "template": answer.template or None,
        "stratum": answer.stratum,
        STRATUM_SIZE: drawn.stratum_size,
        "query_id": answer.query_id,
        "rank": answer.rank,
        schema.DOC_ID: answer.doc_id,
        schema.CHUNK_INDEX: answer.chunk_index,
        schema.CHAR_START: answer.char_start,
        schema.CHAR_END: answer.char_end,
        "score": answer.score,
        "generation": answer.generation,
    }
    return {column: filled.get(column) for column in SHEET.names}


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    target = io.StringIO(newline="")
    writer = csv.writer(target)
    writer.writerow(SHEET.names)
    for row in rows:
        cells = (row[column] for column in SHEET.names)
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in cells])
    # Spreadsheets take a file for UTF-8 only where it begins with a byte order mark.
    return target.getvalue().encode("utf-8-sig")


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    target = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SHEET), target)
    return target.getvalue().to_pybytes()


_WRITERS: Final[Mapping[str, Callable[[Sequence[Mapping[str, Any]]], bytes]]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
