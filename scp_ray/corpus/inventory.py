"""What a corpus holds: one row per document, named by content, without parsing any."""

import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

import pyarrow as pa

from scp_ray.corpus.formats import ROW_READERS, extension, is_row_file, is_supported
from scp_ray.corpus.rows import RowContent
from scp_ray.corpus.source import local_file, oversized, reading
from scp_ray.errors import DocumentError, QuarantineReason
from scp_ray.protocols import ObjectStore, StoredObject
from scp_ray.schema import (
    CONTENT_SHA256,
    DETAIL,
    DOC_ID,
    INVENTORY,
    REASON,
    ROW_INDEX,
    SIZE_BYTES,
    SOURCE_KEY,
)
from scp_ray.sections import CorpusConfig

WHOLE_FILE = -1
"""Row index of a document that is a whole file."""

_HIDDEN_PREFIXES = (".", "~$")  # dot files, and what Word leaves beside an open file
_BATCH_ROWS = 8192

_Entry: TypeAlias = dict[str, str | int | None]


def list_inputs(store: ObjectStore) -> tuple[list[StoredObject], list[str]]:
    """List the files of a corpus.

    Returns:
        The files that documents can be read from, and the keys of the others, both ordered by
        key. Hidden files, and all in hidden folders, are in neither.

    Raises:
        StorageError: If the store cannot be listed.
    """
    visible = sorted((item for item in store.list() if _is_visible(item.key)), key=_key)
    supported = [item for item in visible if is_supported(item.key)]
    return supported, [item.key for item in visible if not is_supported(item.key)]


def inventory_file(store: ObjectStore, source: StoredObject, config: CorpusConfig) -> pa.Table:
    """Take stock of one file.

    Returns:
        Table of ``schema.INVENTORY``: a row for the file (its SHA-256), or one for each row of a
        .jsonl or .parquet file (SHA-256 of its text and metadata as canonical JSON), in order.
        What cannot be used has a reason and a detail, and the name ``<key>#<row>`` where it has
        no name of its own. The text of a whole file is not looked at.
    """
    entries = _row_entries if is_row_file(source.key) else _file_entries
    stock = _guarded(entries(store, source, config), source)
    batches = []
    while batch := list(islice(stock, _BATCH_ROWS)):
        batches.append(pa.RecordBatch.from_pylist(batch, schema=INVENTORY))
    return pa.Table.from_batches(batches, schema=INVENTORY)


def row_name(key: str, row_index: int) -> str:
    """Name a row that has no usable doc_id."""
    return f"{key}#{row_index}"


def _key(item: StoredObject) -> str:
    return item.key


def _is_visible(key: str) -> bool:
    is_folder = key.endswith("/")  # how some tools keep an empty folder on S3
    return not is_folder and not any(part.startswith(_HIDDEN_PREFIXES) for part in key.split("/"))


def _guarded(entries: Iterator[_Entry], source: StoredObject) -> Iterator[_Entry]:
    """Put what stops the reading of a file at the end of its entries."""
    try:
        yield from entries
    except DocumentError as error:
        yield _entry(source.key, source.key, WHOLE_FILE, source.size_bytes, error)


def _file_entries(
    store: ObjectStore, source: StoredObject, config: CorpusConfig
) -> Iterator[_Entry]:
    content: str | DocumentError
    if source.size_bytes > config.max_document_bytes:
        content = oversized(source.size_bytes, config.max_document_bytes, "the file")
    else:
        content = _file_sha256(store, source.key)
    yield _entry(source.key, source.key, WHOLE_FILE, source.size_bytes, content)


def _file_sha256(store: ObjectStore, key: str) -> str:
    with reading(key):
        path = store.local_path(key)
        if path is None:
            return hashlib.sha256(store.read(key)).hexdigest()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def _row_entries(
    store: ObjectStore, source: StoredObject, config: CorpusConfig
) -> Iterator[_Entry]:
    read_rows = ROW_READERS[extension(source.key)]
    is_empty = True
    with reading(source.key), local_file(store, source.key) as path:
        for row in read_rows(path, config.max_document_bytes):
            is_empty = False
            doc_id = row.doc_id or row_name(source.key, row.row_index)
            content = row.content.sha256 if isinstance(row.content, RowContent) else row.content
            yield _entry(source.key, doc_id, row.row_index, row.size_bytes, content)
    if is_empty:
        raise DocumentError(QuarantineReason.EMPTY, "the file has no rows")


def _entry(
    key: str, doc_id: str, row_index: int, size_bytes: int, content: str | DocumentError
) -> _Entry:
    entry: _Entry = {
        DOC_ID: doc_id,
        SOURCE_KEY: key,
        ROW_INDEX: row_index,
        SIZE_BYTES: size_bytes,
        CONTENT_SHA256: "",
        REASON: None,
        DETAIL: None,
    }
    if isinstance(content, DocumentError):
        return {**entry, REASON: content.reason.value, DETAIL: content.detail}
    return {**entry, CONTENT_SHA256: content}
