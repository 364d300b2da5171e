"""Tables of a shard made from bare embeddings."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from scp_ray import schema
from scp_ray.protocols import Float32Array
from scp_ray.records import Metadata

CHUNK_CHARACTERS = 100


def shard_tables(
    documents: Mapping[str, Float32Array],
    *,
    dim: int,
    metadata: Mapping[str, Metadata] | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Return the chunk and the document table of a shard, in the order of ``documents``.

    Chunk i of a document is the 100 characters from ``100 i``; its text names document and index.
    The CNM's category is the document's ``category`` in its metadata, if any.

    Args:
        documents: For each doc_id the embeddings of its chunks, shape (num_chunks, dim), float32.
        dim: Length of an embedding, for a shard without documents too.
        metadata: Metadata by doc_id.
    """
    known = metadata or {}
    counts = [len(embeddings) for embeddings in documents.values()]
    doc_ids = [
        doc_id for doc_id, count in zip(documents, counts, strict=True) for _ in range(count)
    ]
    indexes = [index for count in counts for index in range(count)]
    vectors = np.concatenate([np.empty((0, dim), np.float32), *documents.values()])
    num_rows = len(doc_ids)
    columns: dict[str, Any] = {
        schema.DOC_ID: doc_ids,
        schema.CHUNK_INDEX: indexes,
        schema.NUM_CHUNKS: np.repeat(np.array(counts, dtype=np.int64), counts),
        schema.CHAR_START: [CHUNK_CHARACTERS * index for index in indexes],
        schema.CHAR_END: [CHUNK_CHARACTERS * (index + 1) for index in indexes],
        schema.NUM_TOKENS: pa.array([20] * num_rows, pa.int32()),
        schema.TEXT: [f"{doc_id} {index}" for doc_id, index in zip(doc_ids, indexes, strict=True)],
        schema.PREFIX: [""] * num_rows,
        schema.CNM_CATEGORY: [known.get(doc_id, {}).get("category") for doc_id in doc_ids],
        schema.CNM_NOUNS: pa.array([[]] * num_rows, pa.list_(pa.string())),
        schema.CNM_MODEL: [None] * num_rows,
        schema.STARTS_SPAN: [index == 0 for index in indexes],
        schema.EMBEDDING: pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim),
    }
    rows = schema.ensure_schema(pa.table(columns), schema.chunks_schema(dim), "chunks")
    return rows, _document_table(list(documents), counts, known)


def _document_table(
    doc_ids: list[str], counts: list[int], metadata: Mapping[str, Metadata]
) -> pa.Table:
    columns: dict[str, Any] = {
        schema.DOC_ID: pa.array(doc_ids, pa.string()),
        schema.SOURCE_URI: [f"memory:{doc_id}" for doc_id in doc_ids],
        schema.CONTENT_SHA256: [hashlib.sha256(doc_id.encode()).hexdigest() for doc_id in doc_ids],
        schema.FINGERPRINT: ["test"] * len(doc_ids),
        schema.METADATA_JSON: [json.dumps(dict(metadata.get(doc_id, {}))) for doc_id in doc_ids],
        schema.NUM_CHARACTERS: [CHUNK_CHARACTERS * count for count in counts],
        schema.NUM_CHUNKS: counts,
    }
    return schema.ensure_schema(pa.table(columns), schema.DOCUMENTS, "documents")
