"""Reads tables that people fill in: CSV, JSONL or Parquet by the ending of the name.

A cell that is blank, null or NaN has no value. What cannot be read is refused with the file, the
line (of a Parquet file the row, from 1) and the reason.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.rows import Row

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read a table, in its order.

    Args:
        path: A ``.csv`` (comma, quotes, header), ``.jsonl`` or ``.parquet`` file.
        columns: Columns that it must have; others are allowed.

    Raises:
        ConfigError: If the file cannot be read, has another ending, no row, or lacks a column.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        message = f"{path}: expected a name that ends in {', '.join(_READERS)}"
        raise ConfigError(message)
    found, rows = reader(path)
    missing = [column for column in columns if column not in found]
    if missing and found:
        message = f"{path}: no column {', '.join(missing)}; it has {', '.join(sorted(found))}"
        raise ConfigError(message)
    if not rows:
        message = f"{path}: no row in this file"
        raise ConfigError(message)
    return rows


def guarded(cell: str) -> str:
    """Return a cell for CSV that no spreadsheet computes: it gets an apostrophe in front.

    ``read_rows`` takes it off again.
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _read_csv(path: Path) -> tuple[set[str], list[Row]]:
    lines = csv.reader(io.StringIO(_decoded(path), newline=""), strict=True)
    number = 0
    header: list[str] = []
    rows: list[Row] = []
    try:
        for fields in lines:
            where, number = f"{path}, line {number + 1}", lines.line_num
            if not any(field.strip() for field in fields):
                continue
            if header:
                rows.append(_csv_row(where, header, fields))
            else:
                header = _checked_header(where, [field.strip() for field in fields])
    except csv.Error as error:
        message = f"{path}, line {number + 1}: not CSV: {error}"
        raise ConfigError(message) from error
    return set(header), rows


def _csv_row(where: str, header: Sequence[str], fields: Sequence[str]) -> Row:
    if len(fields) != len(header):
        message = f"{where}: {len(fields)} cells under {len(header)} columns"
        raise ConfigError(message)
    plain = (_without_apostrophe(field) for field in fields)
    return Row(where, _with_value(zip(header, plain, strict=True)), is_csv=True)


def _without_apostrophe(field: str) -> str:
    return field[1:] if field.startswith("'") and _FORMULA.match(field) else field


def _read_jsonl(path: Path) -> tuple[set[str], list[Row]]:
    rows = []
    for number, line in enumerate(_decoded(path).split("\n"), 1):
        if line.strip():
            rows.append(_json_row(f"{path}, line {number}", line))
    return {column for row in rows for column in row.cells}, [
        Row(row.where, _with_value(row.cells.items())) for row in rows
    ]


def _json_row(where: str, line: str) -> Row:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"{where}: not JSON: {error}"
        raise ConfigError(message) from error
    if not isinstance(value, dict):
        message = f"{where}: not an object"
        raise ConfigError(message)
    return Row(where, value)


def _read_parquet(path: Path) -> tuple[set[str], list[Row]]:
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        message = f"{path}: not a readable Parquet file: {error}"
        raise ConfigError(message) from error
    _checked_header(str(path), table.column_names)
    rows = [_parquet_row(f"{path}, row {index + 1}", table, index) for index in range(len(table))]
    return set(table.column_names), rows


def _parquet_row(where: str, table: pa.Table, index: int) -> Row:
    try:
        cells = {name: table.column(name)[index].as_py() for name in table.column_names}
    except UnicodeDecodeError as error:
        message = f"{where}: a text is not UTF-8: {error.reason}"
        raise ConfigError(message) from error
    return Row(where, _with_value(cells.items()))


def _decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise ConfigError(message) from error
    except UnicodeDecodeError as error:
        line = bytes(error.object[: error.start]).count(b"\n") + 1
        message = f"{path}, line {line}: not UTF-8; save the file as UTF-8"
        raise ConfigError(message) from error


def _checked_header(where: str, names: list[str]) -> list[str]:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        message = f"{where}: column {', '.join(repeated)} is there twice"
        raise ConfigError(message)
    return names


def _with_value(cells: Iterable[tuple[str, object]]) -> Mapping[str, object]:
    return {name: value for name, value in cells if not _is_blank(value)}


def _is_blank(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


_READERS: Final[Mapping[str, Callable[[Path], tuple[set[str], list[Row]]]]] = {
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}
