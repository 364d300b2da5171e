"""The documents of the current generation, as a run compares them with the corpus."""

import logging
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scp_ray import schema
from scp_ray.index.shard_files import DOCUMENTS_FILE
from scp_ray.pipeline.plan import PublishedDocument
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import read_verified
from scp_ray.storage.manifest import Manifest, ShardEntry

_log = logging.getLogger(__name__)

_COLUMNS = [
    schema.DOC_ID,
    schema.CONTENT_SHA256,
    schema.FINGERPRINT,
    schema.NUM_CHUNKS,
    schema.SOURCE_URI,
]


def published_documents(
    store: ObjectStore, manifest: Manifest | None
) -> dict[str, PublishedDocument]:
    """Return the documents of a generation by doc_id.

    A shard with a file that is missing or has another size is left out with a warning, so that
    its documents count as new and the run makes it again.

    Raises:
        ChecksumError: If a document table has other bytes than the manifest names.
    """
    documents: dict[str, PublishedDocument] = {}
    for shard in manifest.shards if manifest else []:
        if shard.folder is None:
            continue
        if not _is_complete(store, shard):
            _log.warning("%s is damaged; its documents are done again", shard.folder)
            continue
        for row in _document_rows(store, shard):
            documents[row[schema.DOC_ID]] = PublishedDocument(
                row[schema.DOC_ID],
                shard.shard_id,
                row[schema.CONTENT_SHA256],
                row[schema.FINGERPRINT],
                row[schema.NUM_CHUNKS],
                row[schema.SOURCE_URI],
            )
    return documents


def _is_complete(store: ObjectStore, shard: ShardEntry) -> bool:
    folder = f"{shard.folder}/"
    sizes = {file.key.removeprefix(folder): file.size_bytes for file in store.list(folder)}
    return all(sizes.get(name) == file.size_bytes for name, file in shard.files.items())


def _document_rows(store: ObjectStore, shard: ShardEntry) -> list[dict[str, Any]]:
    key = f"{shard.folder}/{DOCUMENTS_FILE}"
    data = read_verified(store, key, shard.files[DOCUMENTS_FILE].sha256)
    table = schema.ensure_schema(pq.read_table(pa.BufferReader(data)), schema.DOCUMENTS, key)
    rows: list[dict[str, Any]] = table.select(_COLUMNS).to_pylist()
    return rows
