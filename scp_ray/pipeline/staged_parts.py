"""Staged parts: the rows of finished documents, kept until a generation takes them in.

A part is two Parquet files under ``runs/<run id>/staged/<shard>/``. The name of both is the
SHA-256 of the file with the documents, which names the SHA-256 of the file with the chunks; it is
written last and makes the part valid. So a part that a crash cut short does not count, a repeated
write is the same part, and both files can be checked.
"""

import logging
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scp_ray import schema
from scp_ray.errors import ChecksumError
from scp_ray.pipeline.plan import Locator
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import file_sha256, read_verified
from scp_ray.storage.keys import RUNS

_CHUNKS_SUFFIX = ".chunks.parquet"
_DOCUMENTS_SUFFIX = ".documents.parquet"
_CHUNKS_SHA256 = b"chunks_sha256"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StagedDocument:
    """A document whose rows are staged.

    Attributes:
        part: Key of the part, without suffix.
        num_chunks: Its chunks.
    """

    part: str
    num_chunks: int


def write_part(store: ObjectStore, folder: str, chunks: pa.Table, documents: pa.Table) -> str:
    """Write a part and return its key.

    Args:
        store: The index.
        folder: Key of the folder.
        chunks: Rows of schema ``chunks_schema``.
        documents: Their documents, schema ``STAGED``.
    """
    with tempfile.TemporaryDirectory() as local:
        chunks_file, documents_file = Path(local, "chunks"), Path(local, "documents")
        pq.write_table(chunks, chunks_file, compression="zstd")
        metadata = {_CHUNKS_SHA256: file_sha256(chunks_file)}
        pq.write_table(documents.replace_schema_metadata(metadata), documents_file)
        part = f"{folder}/{file_sha256(documents_file)}"
        store.upload(chunks_file, part + _CHUNKS_SUFFIX)
        store.upload(documents_file, part + _DOCUMENTS_SUFFIX)
    return part


def read_part(store: ObjectStore, part: str, doc_ids: Iterable[str]) -> tuple[pa.Table, pa.Table]:
    """Return the chunks and documents of a part that belong to ``doc_ids``.

    Raises:
        ChecksumError: If a file of the part is missing or damaged.
    """
    documents = _read_documents(store, part)
    data = read_verified(store, part + _CHUNKS_SUFFIX, _chunks_sha256(documents))
    chunks = pq.read_table(pa.BufferReader(data))
    wanted = pa.array(list(doc_ids), pa.string())
    return _of_documents(chunks, wanted), _of_documents(documents, wanted)


def staged_documents(
    store: ObjectStore, todo: Iterable[Locator], fingerprint: str
) -> dict[str, StagedDocument]:
    """Return which documents of ``todo`` an unfinished run has staged already, by doc_id.

    A damaged part is left out with a warning: its documents are done again. Both files are read
    to the end to tell, since a part that only the build found damaged would stop every later run.
    """
    wanted = {locator.doc_id: (locator.content_sha256, fingerprint) for locator in todo}
    staged: dict[str, StagedDocument] = {}
    for stored in store.list(RUNS):
        if not stored.key.endswith(_DOCUMENTS_SUFFIX):
            continue
        part = stored.key.removesuffix(_DOCUMENTS_SUFFIX)
        try:
            staged.update(_adoptable(store, part, wanted))
        except ChecksumError as error:
            _log.warning("ignoring a staged part: %s", error)
    return staged


def _adoptable(
    store: ObjectStore, part: str, wanted: Mapping[str, tuple[str, str]]
) -> dict[str, StagedDocument]:
    documents = _read_documents(store, part)
    found = {
        row[schema.DOC_ID]: StagedDocument(part, row[schema.NUM_CHUNKS])
        for row in documents.to_pylist()
        if wanted.get(row[schema.DOC_ID]) == (row[schema.CONTENT_SHA256], row[schema.FINGERPRINT])
    }
    if found:
        read_verified(store, part + _CHUNKS_SUFFIX, _chunks_sha256(documents))
    return found


def delete_parts(store: ObjectStore, run_id: str, adopted: Iterable[str]) -> None:
    """Delete what a committed generation has taken in: all of its run's parts, and adopted ones.

    Args:
        store: The index.
        run_id: The run; a repeated task may have left parts of it that no outcome names.
        adopted: Parts of earlier runs.
    """
    own = {
        stored.key.removesuffix(_DOCUMENTS_SUFFIX)
        for stored in store.list(f"{RUNS}{run_id}/staged/")
        if stored.key.endswith(_DOCUMENTS_SUFFIX)
    }
    for part in own.union(adopted):
        store.delete(part + _DOCUMENTS_SUFFIX)  # first: half a part must not look valid
        store.delete(part + _CHUNKS_SUFFIX)


def _read_documents(store: ObjectStore, part: str) -> pa.Table:
    sha256 = PurePosixPath(part).name
    data = read_verified(store, part + _DOCUMENTS_SUFFIX, sha256)
    try:
        table = pq.read_table(pa.BufferReader(data))
    except pa.ArrowInvalid as error:
        message = f"{store.url}/{part}: not a staged part: {error}"
        raise ChecksumError(message) from error
    metadata = table.schema.metadata
    return schema.ensure_schema(table, schema.STAGED, part).replace_schema_metadata(metadata)


def _chunks_sha256(documents: pa.Table) -> str:
    digest: bytes = documents.schema.metadata[_CHUNKS_SHA256]
    return digest.decode()


def _of_documents(table: pa.Table, doc_ids: pa.StringArray) -> pa.Table:
    return table.filter(pc.is_in(table[schema.DOC_ID], value_set=doc_ids))
