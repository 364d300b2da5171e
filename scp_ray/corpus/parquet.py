"""Rows of .parquet files, streamed by batches of bounded size."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scp_ray.corpus.rows import METADATA, Row, checked_row, invalid, metadata_bytes
from scp_ray.errors import DocumentError, QuarantineReason
from scp_ray.schema import DOC_ID, TEXT

_BATCH_BYTES = 16 * 1024 * 1024
_MAX_BATCH_ROWS = 1024
_BUFFER_BYTES = 1024 * 1024


def read_parquet(
    path: Path, max_row_bytes: int, wanted: Collection[int] | None = None
) -> Iterator[Row]:
    """Yield the rows of a Parquet file in order.

    Args:
        path: The file; columns doc_id and text are strings, metadata (optional) a struct or map.
        max_row_bytes: Rows with more text and metadata become oversized.
        wanted: Row indexes to read; None = all. Row groups without one are skipped.

    Raises:
        DocumentError: BROKEN if the file cannot be parsed, INVALID_ROW if it has other columns;
            also after some rows, where the damage lies further on.
        OSError: If the file cannot be read.
    """
    with pa.OSFile(str(path), "r") as source:
        try:
            with pq.ParquetFile(source, buffer_size=_BUFFER_BYTES, pre_buffer=False) as file:
                columns = _checked_columns(file.schema_arrow)
                for first_row, batch in _batches(file, columns, wanted):
                    yield from _rows(batch, first_row, max_row_bytes, wanted)
        except (pa.ArrowException, OSError, ValueError) as error:
            detail = f"not a readable Parquet file: {error}"
            raise DocumentError(QuarantineReason.BROKEN, detail) from error


def _checked_columns(schema: pa.Schema) -> list[str]:
    for name in (DOC_ID, TEXT):
        if schema.names.count(name) != 1:
            detail = f"the file must have one column {name}; it has {', '.join(schema.names)}"
            raise invalid(detail)
        kind = schema.field(name).type
        if not _is_text(kind):
            detail = f"column {name} must be a string, not {kind}"
            raise invalid(detail)
    if METADATA not in schema.names:
        return [DOC_ID, TEXT]
    kind = schema.field(METADATA).type
    if not (pa.types.is_struct(kind) or pa.types.is_map(kind) or pa.types.is_null(kind)):
        detail = f"column {METADATA} must be a struct or a map, not {kind}"
        raise invalid(detail)
    return [DOC_ID, TEXT, METADATA]


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_string_view(kind))


def _batches(
    file: pq.ParquetFile, columns: list[str], wanted: Collection[int] | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    first_row = 0
    for group in range(file.num_row_groups):
        about = file.metadata.row_group(group)
        rows = range(first_row, first_row + about.num_rows)
        if wanted is None or any(row in rows for row in wanted):
            row_bytes = max(1, about.total_byte_size // max(1, about.num_rows))
            num_rows = min(_MAX_BATCH_ROWS, max(1, _BATCH_BYTES // row_bytes))
            position = first_row
            for batch in file.iter_batches(num_rows, row_groups=[group], columns=columns):
                yield position, batch
                position += batch.num_rows
        first_row = rows.stop


def _rows(
    batch: pa.RecordBatch, first_row: int, max_row_bytes: int, wanted: Collection[int] | None
) -> Iterator[Row]:
    for position in range(batch.num_rows):
        row_index = first_row + position
        if wanted is None or row_index in wanted:
            yield _row(batch.slice(position, 1), row_index, max_row_bytes)


def _row(cells: pa.RecordBatch, row_index: int, max_row_bytes: int) -> Row:
    try:
        fields = {name: cells.column(name)[0].as_py() for name in cells.schema.names}
    except UnicodeDecodeError as error:
        detail = f"a string of the row is not UTF-8: {error.reason}"
        return Row(row_index, None, 0, DocumentError(QuarantineReason.UNDECODABLE, detail))
    metadata = fields.get(METADATA)
    if isinstance(metadata, list):  # how Arrow gives a map
        fields[METADATA] = dict(metadata)
    size_bytes = len((fields[TEXT] or "").encode()) + metadata_bytes(fields.get(METADATA))
    row = checked_row(row_index, size_bytes, fields)
    if size_bytes <= max_row_bytes:
        return row
    detail = f"the row has {size_bytes} bytes; corpus.max_document_bytes is {max_row_bytes}"
    return Row(row_index, row.doc_id, size_bytes, DocumentError(QuarantineReason.OVERSIZED, detail))
