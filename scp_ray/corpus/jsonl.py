"""Rows of .jsonl files, streamed: no more than one line is held."""

import json
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from typing import BinaryIO, NoReturn

from scp_ray.corpus.rows import Row, checked_row, invalid
from scp_ray.errors import DocumentError, QuarantineReason

_BOM = b"\xef\xbb\xbf"
_LINE_END_BYTES = 2
_SKIP_BYTES = 1024 * 1024


def read_jsonl(
    path: Path, max_row_bytes: int, wanted: Collection[int] | None = None
) -> Iterator[Row]:
    """Yield the rows of a JSON Lines file (UTF-8) in order; blank lines are passed over.

    Args:
        path: The file.
        max_row_bytes: Longer lines become oversized rows and are not held in memory.
        wanted: Row indexes to parse; None = all.

    Raises:
        OSError: If the file cannot be read.
    """
    last = max(wanted, default=-1) if wanted is not None else None
    with path.open("rb") as file:
        for row_index in count() if last is None else range(last + 1):
            line, size_bytes = _read_line(file, max_row_bytes)
            if not size_bytes:
                return
            if wanted is not None and row_index not in wanted:
                continue
            if line is None:
                yield _oversized(row_index, size_bytes, max_row_bytes)
            elif not (line := _without_bom(line, row_index)).isspace():
                yield _parse(row_index, line)


def _read_line(file: BinaryIO, max_row_bytes: int) -> tuple[bytes | None, int]:
    """Return the next line, None if it is too long, and its size; size 0 at the end."""
    line = file.readline(max_row_bytes + _LINE_END_BYTES)
    if len(line.rstrip(b"\r\n")) <= max_row_bytes:
        return line, len(line)
    size_bytes = len(line)
    part = line
    while part and not part.endswith(b"\n"):
        part = file.readline(_SKIP_BYTES)
        size_bytes += len(part)
    return None, size_bytes


def _without_bom(line: bytes, row_index: int) -> bytes:
    return line.removeprefix(_BOM) if row_index == 0 else line


def _oversized(row_index: int, size_bytes: int, max_row_bytes: int) -> Row:
    detail = f"the line has {size_bytes} bytes; corpus.max_document_bytes is {max_row_bytes}"
    error = DocumentError(QuarantineReason.OVERSIZED, detail)
    return Row(row_index, None, size_bytes, error)


def _parse(row_index: int, line: bytes) -> Row:
    size_bytes = len(line.rstrip(b"\r\n"))
    try:
        fields = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        detail = f"byte {error.start} of the line is not UTF-8"
        return Row(row_index, None, size_bytes, DocumentError(QuarantineReason.UNDECODABLE, detail))
    except (ValueError, RecursionError) as error:
        return Row(row_index, None, size_bytes, invalid(f"not valid JSON: {error}"))
    if not isinstance(fields, dict):
        kind = type(fields).__name__
        return Row(row_index, None, size_bytes, invalid(f"the line must be an object, not {kind}"))
    return checked_row(row_index, size_bytes, fields)


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is not a JSON number"
    raise ValueError(message)
