"""From an input to a document: read, decode or parse, check."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scp_ray.corpus.formats import FILE_FORMATS, ROW_READERS, extension, is_row_file
from scp_ray.corpus.inventory import WHOLE_FILE, row_name
from scp_ray.corpus.rows import Row
from scp_ray.corpus.source import local_file, oversized, reading
from scp_ray.errors import DocumentError, QuarantineReason
from scp_ray.protocols import ObjectStore
from scp_ray.records import Document
from scp_ray.sections import CorpusConfig

_MAX_DETAIL = 300


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What became of one input.

    Attributes:
        doc_id: Name of the document, as the inventory has it.
        row_index: Its row, -1 for a whole file.
        outcome: The document, or why there is none.
        content_sha256: Of what was read, as in the inventory, so that a change since then shows;
            empty where there is no document.
    """

    doc_id: str
    row_index: int
    outcome: Document | DocumentError
    content_sha256: str = ""


def read_documents(
    store: ObjectStore, source_key: str, row_indexes: Sequence[int], config: CorpusConfig
) -> Iterator[ReadResult]:
    """Read one file once and yield the documents that are wanted of it.

    Args:
        store: The corpus.
        source_key: A file of it.
        row_indexes: Rows wanted, each once; [-1] for a file that is one document.
        config: Limits.

    Yields:
        One result for each wanted row, ascending. ``source_uri`` is the store's address, the key
        and, for a row, ``#`` and its index. A row that is gone since the inventory is UNREADABLE.
    """
    if is_row_file(source_key):
        yield from _read_rows(store, source_key, sorted(row_indexes), config)
        return
    try:
        yield _read_file(store, source_key, config.max_document_bytes)
    except DocumentError as error:
        yield ReadResult(source_key, WHOLE_FILE, error)


def _read_file(store: ObjectStore, key: str, max_bytes: int) -> ReadResult:
    with reading(key):
        data = store.read(key)
    _check_size(len(data), max_bytes, "the file")
    document = Document(key, _text(key, data, max_bytes), _uri(store, key))
    return ReadResult(key, WHOLE_FILE, document, hashlib.sha256(data).hexdigest())


def _text(key: str, data: bytes, max_bytes: int) -> str:
    text = _parse(key, data, max_bytes)
    if not any(map(str.isalnum, text)):
        raise DocumentError(QuarantineReason.EMPTY, "the file has no words")
    try:
        _check_size(len(text.encode()), max_bytes, "the text")
    except UnicodeEncodeError:
        # A parser may find halves of surrogate pairs, which no file and no table can hold.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _check_size(num_bytes: int, max_bytes: int, what: str) -> None:
    if num_bytes > max_bytes:
        raise oversized(num_bytes, max_bytes, what)


def _parse(key: str, data: bytes, max_bytes: int) -> str:
    file_format = FILE_FORMATS[extension(key)]
    try:
        _check_size(file_format.unpacked_bytes(data), max_bytes, "the unpacked file")
        return file_format.parse(data)
    except DocumentError:
        raise
    except Exception as error:  # the boundary: parsers raise anything on bytes made for it
        raise DocumentError(QuarantineReason.BROKEN, _describe(error)) from error


def _describe(error: Exception) -> str:
    """Say in one line what a parser met."""
    message = " ".join(str(error).split()).encode(errors="replace").decode()
    return f"the parser failed: {type(error).__name__}: {message}"[:_MAX_DETAIL].rstrip(": ")


def _read_rows(
    store: ObjectStore, key: str, row_indexes: list[int], config: CorpusConfig
) -> Iterator[ReadResult]:
    missing = dict.fromkeys(row_indexes)
    read_rows = ROW_READERS[extension(key)]
    failure = DocumentError(QuarantineReason.UNREADABLE, "the row is gone since the inventory")
    try:
        with reading(key), local_file(store, key) as path:
            for row in read_rows(path, config.max_document_bytes, frozenset(row_indexes)):
                del missing[row.row_index]
                yield _row_result(store, key, row)
    except DocumentError as error:
        failure = error
    for row_index in missing:
        yield ReadResult(row_name(key, row_index), row_index, failure)


def _row_result(store: ObjectStore, key: str, row: Row) -> ReadResult:
    doc_id = row.doc_id or row_name(key, row.row_index)
    content = row.content
    if isinstance(content, DocumentError):
        return ReadResult(doc_id, row.row_index, content)
    uri = _uri(store, row_name(key, row.row_index))
    document = Document(doc_id, content.text, uri, content.metadata)
    return ReadResult(doc_id, row.row_index, document, content.sha256)


def _uri(store: ObjectStore, name: str) -> str:
    return f"{store.url.rstrip('/')}/{name}"
