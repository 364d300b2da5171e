"""Embeds annotated documents and writes their rows to storage; only counts leave the stage."""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from scp_ray import schema
from scp_ray.chop.prefix_writer import PrefixedChunks, PrefixWriter
from scp_ray.config import Settings
from scp_ray.errors import DocumentError, EncoderError, QuarantineReason
from scp_ray.pipeline.planned_encoder import load_planned_encoder
from scp_ray.pipeline.staged_parts import write_part
from scp_ray.pipeline.work import WorkItem, annotation_row, items_from_table
from scp_ray.protocols import Float32Array
from scp_ray.storage.keys import staged_folder
from scp_ray.storage.manifest import EncoderEntry
from scp_ray.storage.opening import open_store

_GROUP_CHUNKS = 256  # of one encoder call and one part: enough to sort by length, soon staged


@dataclass(frozen=True, slots=True)
class StagingTarget:
    """Where a run stages its rows, and as what.

    Attributes:
        index: Address of the index.
        run_id: The run.
        fingerprint: Settings and revisions that shape the rows.
        encoder: The encoder that must make the vectors.
    """

    index: str
    run_id: str
    fingerprint: str
    encoder: EncoderEntry


@dataclass(frozen=True, slots=True)
class _Embedded:
    item: WorkItem
    prefixes: list[str]
    embeddings: Float32Array
    num_shortened: int
    embed_s: float


class EmbedStage:
    """Embeds ``prefix + chunk`` and stages the rows by shard.

    Raises:
        EncoderError: If the encoder found here is not the one that the run was planned with.
    """

    def __init__(self, target: StagingTarget, settings: Settings, num_threads: int) -> None:
        self._target = target
        self._store = open_store(target.index)
        self._encoder = load_planned_encoder(
            settings.embedding, target.encoder.revision, num_threads
        )
        self._writer = PrefixWriter(
            self._encoder.tokenizer,
            self._encoder.max_tokens,
            settings.chunking.prefix_budget_tokens,
        )

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``WORK`` and yield ``OUTCOMES``."""
        for items in _groups(items_from_table(batch)):
            yield self._finished(items)

    def _finished(self, items: list[WorkItem]) -> pa.Table:
        """Embed and stage documents; return their outcomes."""
        failed = [item for item in items if item.failure]
        embedded, refused = self._embed([item for item in items if not item.failure])
        rows = [_outcome(item) for item in [*failed, *refused]]
        for shard_id in sorted({done.item.shard_id for done in embedded}):
            done = [one for one in embedded if one.item.shard_id == shard_id]
            part = self._stage(shard_id, done)
            rows += [_outcome(one.item, one, part) for one in done]
        return pa.Table.from_pylist(rows, schema=schema.OUTCOMES)

    def _embed(self, items: list[WorkItem]) -> tuple[list[_Embedded], list[WorkItem]]:
        """Embed all documents in one call, or each alone when one of them is refused."""
        if not items:
            return [], []
        try:
            return self._embed_together(items), []
        except EncoderError as error:
            if len(items) == 1:
                failure = DocumentError(QuarantineReason.EMBEDDING_FAILED, str(error))
                return [], [items[0].failed(failure)]
        embedded: list[_Embedded] = []
        refused: list[WorkItem] = []
        for item in items:
            done, not_done = self._embed([item])
            embedded += done
            refused += not_done
        return embedded, refused

    def _embed_together(self, items: list[WorkItem]) -> list[_Embedded]:
        started = time.perf_counter()
        prefixed = [self._prefixed(item) for item in items]
        texts = [text for one in prefixed for text in one.texts]
        embeddings = self._encoder.encode(texts)
        per_chunk_s = (time.perf_counter() - started) / len(texts)
        ends = np.cumsum([len(item.spans) for item in items])[:-1]
        return [
            _Embedded(item, one.prefixes, vectors, one.num_shortened, per_chunk_s * len(item.spans))
            for item, one, vectors in zip(items, prefixed, np.split(embeddings, ends), strict=True)
        ]

    def _prefixed(self, item: WorkItem) -> PrefixedChunks:
        cnms = [annotation.cnm for annotation in item.annotations]
        return self._writer.write(item.chunk_texts, item.spans, cnms)

    def _stage(self, shard_id: int, done: list[_Embedded]) -> str:
        chunks = pa.concat_tables(_chunk_table(one, self._encoder.dim) for one in done)
        documents = pa.Table.from_pylist(
            [_staged_row(one.item, self._target.fingerprint) for one in done],
            schema=schema.STAGED,
        )
        folder = staged_folder(self._target.run_id, shard_id)
        return write_part(self._store, folder, chunks, documents)


def _groups(items: list[WorkItem]) -> Iterator[list[WorkItem]]:
    """Cut a batch after every ``_GROUP_CHUNKS`` chunks or more, between documents."""
    group: list[WorkItem] = []
    num_chunks = 0
    for item in items:
        group.append(item)
        num_chunks += len(item.spans)
        if num_chunks >= _GROUP_CHUNKS:
            yield group
            group, num_chunks = [], 0
    if group:
        yield group


def _chunk_table(done: _Embedded, dim: int) -> pa.Table:
    item = done.item
    count = len(item.spans)
    annotations = [annotation_row(annotation) for annotation in item.annotations]
    values = pa.array(done.embeddings.reshape(-1), pa.float32())
    columns: dict[str, Any] = {
        schema.DOC_ID: [item.doc_id] * count,
        schema.CHUNK_INDEX: range(count),
        schema.NUM_CHUNKS: [count] * count,
        schema.CHAR_START: [span.char_start for span in item.spans],
        schema.CHAR_END: [span.char_end for span in item.spans],
        schema.NUM_TOKENS: [span.num_tokens for span in item.spans],
        schema.TEXT: item.chunk_texts,
        schema.PREFIX: done.prefixes,
        **{name: [row[name] for row in annotations] for name in annotations[0]},
        schema.EMBEDDING: pa.FixedSizeListArray.from_arrays(values, dim),
    }
    expected = schema.chunks_schema(dim)
    return pa.table([pa.array(columns[f.name], f.type) for f in expected], schema=expected)


def _staged_row(item: WorkItem, fingerprint: str) -> dict[str, object]:
    return {
        schema.DOC_ID: item.doc_id,
        schema.SHARD_ID: item.shard_id,
        schema.SOURCE_URI: item.source_uri,
        schema.CONTENT_SHA256: item.content_sha256,
        schema.FINGERPRINT: fingerprint,
        schema.METADATA_JSON: item.metadata_json,
        schema.NUM_CHARACTERS: len(item.text),
        schema.NUM_CHUNKS: len(item.spans),
    }


def _outcome(
    item: WorkItem, done: _Embedded | None = None, part: str | None = None
) -> dict[str, object]:
    return {
        schema.DOC_ID: item.doc_id,
        schema.SHARD_ID: item.shard_id,
        schema.PART: part,
        schema.NUM_CHUNKS: len(item.spans),
        schema.NUM_SPANS: sum(annotation.starts_span for annotation in item.annotations),
        schema.NUM_TOKENS: sum(span.num_tokens for span in item.spans),
        schema.NUM_SHORTENED: done.num_shortened if done else 0,
        schema.USAGE: asdict(item.usage),
        schema.READ_S: item.read_s,
        schema.ANNOTATE_S: item.annotate_s,
        schema.ACTIVE: asdict(item.active) if item.active else None,
        schema.EMBED_S: done.embed_s if done else 0.0,
        schema.REASON: item.failure.reason if item.failure else None,
        schema.DETAIL: item.failure.detail if item.failure else None,
    }
