"""Builds the files of one shard from its rows, audits the graph, and reports."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scp_ray import schema
from scp_ray.chop.prefix import embedding_text
from scp_ray.errors import RowAccountingError
from scp_ray.index import shard_files
from scp_ray.index.audit import ShardAudit, audit_graph, require_quality
from scp_ray.index.columns import integers
from scp_ray.index.distinct import distinct_rows
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.lexical import write_postings
from scp_ray.index.postings import Postings, build_postings
from scp_ray.protocols import Int64Array
from scp_ray.retrieval.positional_code import position, store_vectors
from scp_ray.sections import IndexConfig

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class ShardBuildReport:
    """What a shard build made.

    Attributes:
        num_documents: Documents of the shard.
        num_chunks: Their chunks.
        num_nodes: Distinct stored vectors, which are the nodes of the graph.
        audit: How well the graph finds them.
        sort_s: Seconds of sorting and checking rows.
        build_s: Seconds of building the graph.
        words_s: Seconds of inverting the text.
        audit_s: Seconds of the audit.
        write_s: Seconds of writing the files.
    """

    num_documents: int
    num_chunks: int
    num_nodes: int
    audit: ShardAudit
    sort_s: float
    build_s: float
    words_s: float
    audit_s: float
    write_s: float


def build_shard(
    rows: pa.Table, documents: pa.Table, config: IndexConfig, folder: Path
) -> ShardBuildReport:
    """Write the files of one shard into a folder.

    The same rows, in any order and any Arrow layout, give the same bytes, with
    ``config.build_threads`` 1. Embeddings are written bit for bit as they came. A shard without
    documents has the same files.

    Args:
        rows: The chunks of the shard, ``schema.chunks_schema``.
        documents: Its documents, ``schema.DOCUMENTS``.
        config: Graph, words and audit.
        folder: Exists; files of the same names are replaced.

    Raises:
        SchemaError: If a table has other columns.
        RowAccountingError: If chunks of a document are missing, double, or of no document.
        IndexQualityError: If a vector's norm is not 1, recall is below ``min_recall``, or a
            vector cannot be reached.
    """
    clock = [time.perf_counter()]
    rows, documents = _sorted_tables(rows, documents)
    _check_rows(rows, documents)
    clock.append(time.perf_counter())
    graph, nodes = _build_graph(rows, config)
    clock.append(time.perf_counter())
    postings = _postings(rows, config)
    clock.append(time.perf_counter())
    audit = audit_graph(graph, config)
    require_quality(audit, config)
    clock.append(time.perf_counter())
    shard_files.write_chunks(rows, folder, config.positional_code_weight)
    shard_files.write_documents(documents, folder)
    shard_files.write_nodes(nodes, folder)
    write_postings(postings, folder)
    graph.write(folder / shard_files.GRAPH_FILE)
    clock.append(time.perf_counter())
    return ShardBuildReport(
        documents.num_rows, rows.num_rows, graph.num_nodes, audit, *np.diff(clock).tolist()
    )


def _sorted_tables(rows: pa.Table, documents: pa.Table) -> tuple[pa.Table, pa.Table]:
    dim = rows.schema.field(schema.EMBEDDING).type.list_size
    rows = schema.ensure_schema(rows, schema.chunks_schema(dim), "chunks of a shard")
    documents = schema.ensure_schema(documents, schema.DOCUMENTS, "documents of a shard")
    by_chunk = rows.sort_by([(schema.DOC_ID, "ascending"), (schema.CHUNK_INDEX, "ascending")])
    return by_chunk, documents.sort_by(schema.DOC_ID)


def _check_rows(rows: pa.Table, documents: pa.Table) -> None:
    """Check that each document has its chunks 0 to num_chunks - 1, once each, and no others."""
    doc_ids = documents.column(schema.DOC_ID)
    if pc.count_distinct(doc_ids).as_py() < len(doc_ids):
        message = "a shard has two documents of one doc_id"
        raise RowAccountingError(message)
    row_doc_ids = rows.column(schema.DOC_ID)
    found: Any = pc.index_in(row_doc_ids, value_set=doc_ids)
    _refuse(row_doc_ids.filter(found.is_null()), "chunks without a document")
    place = found.to_numpy()
    num_chunks = integers(documents, schema.NUM_CHUNKS)
    num_rows = np.bincount(place, minlength=len(num_chunks))
    _refuse(doc_ids.filter(pa.array(num_rows != num_chunks)), "chunks missing or too many")
    first_row = np.cumsum(num_rows) - num_rows
    is_wrong = (integers(rows, schema.CHUNK_INDEX) != np.arange(len(place)) - first_row[place]) | (
        integers(rows, schema.NUM_CHUNKS) != num_chunks[place]
    )
    _refuse(row_doc_ids.filter(pa.array(is_wrong)), "chunks double or numbered wrongly")


def _refuse(doc_ids: "pa.ChunkedArray[Any]", problem: str) -> None:
    if len(doc_ids):
        named = ", ".join(map(str, doc_ids.unique().to_pylist()[:_MOST_NAMED]))
        message = f"{problem}: {named}"
        raise RowAccountingError(message)


def _build_graph(rows: pa.Table, config: IndexConfig) -> tuple[HnswGraph, Int64Array]:
    """Build the graph over distinct stored vectors; return it with the node of each row."""
    positions = position(integers(rows, schema.CHUNK_INDEX), integers(rows, schema.NUM_CHUNKS))
    vectors = store_vectors(
        shard_files.embedding_matrix(rows), positions, config.positional_code_weight
    )
    leaders, nodes = distinct_rows(vectors)
    if len(leaders) < len(vectors):
        vectors = vectors[leaders]
    return HnswGraph.build(vectors, config), nodes


def _postings(rows: pa.Table, config: IndexConfig) -> Postings:
    """Invert what was embedded: prefix and chunk, so that words see the model's name too."""
    texts = (
        embedding_text(str(prefix), str(text))
        for prefix, text in zip(rows[schema.PREFIX], rows[schema.TEXT], strict=True)
    )
    return build_postings(texts, config.stemmer)
