"""The documents of the current generation, as a run compares them with the corpus."""

import pyarrow as pa
import pyarrow.parquet as pq

from scp_ray import schema
from scp_ray.index.shard_files import DOCUMENTS_FILE
from scp_ray.pipeline.plan import PublishedDocument
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import read_verified
from scp_ray.storage.manifest import Manifest

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

    Raises:
        ChecksumError: If a shard's document table is missing or damaged.
    """
    documents: dict[str, PublishedDocument] = {}
    for shard in manifest.shards if manifest else []:
        if shard.folder is None:
            continue
        key = f"{shard.folder}/{DOCUMENTS_FILE}"
        data = read_verified(store, key, shard.files[DOCUMENTS_FILE].sha256)
        table = schema.ensure_schema(pq.read_table(pa.BufferReader(data)), schema.DOCUMENTS, key)
        for row in table.select(_COLUMNS).to_pylist():
            documents[row[schema.DOC_ID]] = PublishedDocument(
                shard.shard_id,
                row[schema.CONTENT_SHA256],
                row[schema.FINGERPRINT],
                row[schema.NUM_CHUNKS],
                row[schema.SOURCE_URI],
            )
    return documents
