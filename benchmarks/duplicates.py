"""Rows of a shard of which a share are exact duplicates."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.shard_rows import ShardRows, texts, with_columns
from scp_ray import schema
from scp_ray.index.columns import integers
from scp_ray.index.shard_files import embedding_matrix

_NUM_PASSAGES = 50


def with_copied_documents(rows: ShardRows, share: float) -> ShardRows:
    """Return the rows and exact copies of whole documents, which make ``share`` of the result.

    A copy's stored vectors are those of its original bit for bit. The first documents are copied,
    as many as it takes.
    """
    num_wanted = rows.chunks.num_rows * share / (1.0 - share)
    num_before = np.cumsum([0, *integers(rows.documents, schema.NUM_CHUNKS)[:-1]])
    copied = rows.documents.filter(pa.array(num_before < num_wanted))
    is_copied = pc.is_in(rows.chunks[schema.DOC_ID], value_set=copied[schema.DOC_ID])
    pairs = ((rows.chunks, rows.chunks.filter(is_copied)), (rows.documents, copied))
    return ShardRows(*(pa.concat_tables([table, _renamed(copies)]) for table, copies in pairs))


def with_repeated_passages(
    rows: ShardRows, share: float, generator: np.random.Generator
) -> ShardRows:
    """Return the rows, of which ``share`` now have the embedding of one of 50 passages.

    So have notices that every manual prints, at other positions. The passages and the rows that
    repeat them are drawn.
    """
    embeddings = embedding_matrix(rows.chunks).copy()
    drawn = generator.permutation(len(embeddings))[: int(share * len(embeddings))]
    passages = drawn[:_NUM_PASSAGES]
    embeddings[drawn] = embeddings[passages[np.arange(len(drawn)) % len(passages)]]
    column = pa.FixedSizeListArray.from_arrays(
        pa.array(embeddings.reshape(-1)), embeddings.shape[1]
    )
    return ShardRows(with_columns(rows.chunks, {schema.EMBEDDING: column}), rows.documents)


def _renamed(table: pa.Table) -> pa.Table:
    doc_ids = pa.array([f"copy/{doc_id}" for doc_id in texts(table, schema.DOC_ID)], pa.string())
    return with_columns(table, {schema.DOC_ID: doc_ids})
