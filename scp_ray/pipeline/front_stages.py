"""The stages before embedding: take stock of the corpus, read and chunk, annotate."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from scp_ray import schema
from scp_ray.annotators.factory import annotator_revision, make_annotator
from scp_ray.config import Settings
from scp_ray.corpus.chunker import chunk_spans
from scp_ray.corpus.inventory import inventory_file
from scp_ray.corpus.read import read_documents
from scp_ray.embedding.factory import load_tokenizer
from scp_ray.errors import ConfigError, DocumentError, QuarantineReason
from scp_ray.pipeline.engine_deaths import CAUSE, Deaths, EngineDeaths
from scp_ray.pipeline.work import WorkItem, items_from_table, items_to_table
from scp_ray.protocols import Annotator, StoredObject
from scp_ray.records import NO_USAGE, AnnotatedDocument, AnnotationUsage, Document
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.storage.opening import open_store

_CHANGED = "the document changed while the run was reading the corpus; the next run takes it"


class InventoryStage:
    """Files of the corpus to documents with their content hashes; nothing is parsed."""

    def __init__(self, corpus: str, settings: Settings) -> None:
        self._store = open_store(corpus)
        self._config = settings.corpus

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``INPUTS`` and yield ``INVENTORY``, one table a file."""
        for row in batch.to_pylist():
            stored = StoredObject(row[schema.KEY], row[schema.SIZE_BYTES], row[schema.VERSION])
            table = inventory_file(self._store, stored, self._config)
            yield schema.ensure_schema(table, schema.INVENTORY, stored.key)


class ReadStage:
    """Reads, parses and chunks documents."""

    def __init__(self, corpus: str, settings: Settings, max_tokens: int) -> None:
        self._store = open_store(corpus)
        self._settings = settings
        self._max_tokens = max_tokens
        self._tokenizer = load_tokenizer(settings.embedding)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``LOCATORS`` and yield ``WORK``, one table a document."""
        by_file: dict[str, dict[int, WorkItem]] = {}
        for row in batch.to_pylist():
            key = row[schema.SOURCE_KEY]
            item = WorkItem(
                row[schema.DOC_ID],
                row[schema.SHARD_ID],
                f"{self._store.url}/{key}",
                row[schema.CONTENT_SHA256],
            )
            by_file.setdefault(key, {})[row[schema.ROW_INDEX]] = item
        for key, items in by_file.items():
            for item in self._read_file(key, items):
                yield items_to_table([item])

    def _read_file(self, key: str, items: Mapping[int, WorkItem]) -> Iterator[WorkItem]:
        started = time.perf_counter()
        for read in read_documents(self._store, key, list(items), self._settings.corpus):
            item, outcome = items[read.row_index], read.outcome
            if isinstance(outcome, DocumentError):
                item = item.failed(outcome)
            elif read.content_sha256 != item.content_sha256:
                item = item.failed(DocumentError(QuarantineReason.UNREADABLE, _CHANGED))
            else:
                item = self._chunked(item, outcome)
            yield replace(item, read_s=time.perf_counter() - started)
            started = time.perf_counter()

    def _chunked(self, item: WorkItem, document: Document) -> WorkItem:
        try:
            spans = chunk_spans(
                document.text, self._tokenizer, self._settings.chunking, self._max_tokens
            )
        except DocumentError as error:
            return item.failed(error)
        return replace(
            item,
            source_uri=document.source_uri,
            metadata_json=json.dumps(dict(document.metadata), sort_keys=True, ensure_ascii=False),
            text=document.text,
            spans=spans,
        )


@dataclass(frozen=True, slots=True)
class AnnotationSite:
    """Where annotators of a run keep their answers, and as what.

    Attributes:
        index: Address of the index, which has the annotation cache.
        run_id: The run.
        revision: What the run was planned to be annotated by, see ``annotator_revision``.
        num_actors: Annotators that share the limits of a language model.
    """

    index: str
    run_id: str
    revision: str
    num_actors: int


def _annotator(settings: Settings, site: AnnotationSite) -> Annotator:
    if annotator_revision(settings) != site.revision:
        message = (
            "the prompts or the annotator of this node are not those that the run was planned "
            "with; install the same version of scp_ray on every node"
        )
        raise ConfigError(message)
    open_cache = partial(StoredAnnotationCache, open_store(site.index))
    return make_annotator(settings, open_cache, site.num_actors)


def _engine_deaths(site: AnnotationSite) -> EngineDeaths:
    return EngineDeaths(open_store(site.index), site.run_id)


class AnnotateStage:
    """CHOP over whole documents, each in the order of its chunks."""

    def __init__(self, settings: Settings, site: AnnotationSite) -> None:
        self._annotator = _annotator(settings, site)
        self._deaths = _engine_deaths(site)
        self._can_die = settings.chop.annotator.needs_llm

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``WORK`` and yield ``WORK`` with the annotations filled in.

        Calls in several threads at once are in flight together, but for documents that were in
        work when an engine died.
        """
        deaths = self._deaths.read() if self._can_die else Deaths()
        items = [
            item.failed(CAUSE)
            if not item.failure and deaths.are_caused_by(item.content_sha256)
            else item
            for item in items_from_table(batch)
        ]
        usable = [item for item in items if not item.failure]
        together = [item for item in usable if not deaths.concern(item.content_sha256)]
        done = self._annotated(together, alone=False) if together else []
        for item in usable:
            if deaths.concern(item.content_sha256):
                done += self._annotated([item], alone=True)
        yield items_to_table([*done, *(item for item in items if item.failure)])

    def _annotated(self, items: list[WorkItem], *, alone: bool) -> list[WorkItem]:
        contents = [item.content_sha256 for item in items]
        with self._deaths.watched(contents, alone=alone):
            started = time.perf_counter()
            annotated = self._annotator.annotate([item.chunk_texts for item in items])
            seconds = (time.perf_counter() - started) / len(items)
        return [
            _with_annotations(item, document, seconds)
            for item, document in zip(items, annotated, strict=True)
        ]

    def close(self) -> None:
        """End the annotator."""
        self._annotator.close()


class CutStage:
    """Cuts the chunks of long documents into pieces that share a chunk with the next one."""

    def __init__(self, piece_chunks: int) -> None:
        self._piece_chunks = piece_chunks

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``WORK`` and yield ``PIECES``, one table a piece; of short documents none."""
        for item in items_from_table(batch):
            chunks = item.chunk_texts
            if len(chunks) <= self._piece_chunks:
                continue
            for start in range(0, len(chunks) - 1, self._piece_chunks):
                piece = chunks[start : start + self._piece_chunks + 1]
                row = {schema.CONTENT_SHA256: item.content_sha256, schema.CHUNKS: piece}
                yield pa.Table.from_pylist([row], schema=schema.PIECES)


class AskAheadStage:
    """Fills the annotation cache for pieces of documents."""

    def __init__(self, settings: Settings, site: AnnotationSite) -> None:
        self._annotator = _annotator(settings, site)
        self._deaths = _engine_deaths(site)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``PIECES`` and yield ``ASKED``, one row for the whole batch.

        Pieces of documents that were in work when an engine died are left to ``AnnotateStage``.
        """
        deaths = self._deaths.read()
        rows = [row for row in batch.to_pylist() if not deaths.concern(row[schema.CONTENT_SHA256])]
        usage = self._asked(rows) if rows else NO_USAGE
        row = {schema.USAGE: asdict(usage)}
        yield pa.Table.from_pylist([row], schema=schema.ASKED)

    def _asked(self, pieces: list[dict[str, Any]]) -> AnnotationUsage:
        with self._deaths.watched([piece[schema.CONTENT_SHA256] for piece in pieces]):
            return self._annotator.ask_ahead([piece[schema.CHUNKS] for piece in pieces])

    def close(self) -> None:
        """End the annotator."""
        self._annotator.close()


def _with_annotations(item: WorkItem, document: AnnotatedDocument, seconds: float) -> WorkItem:
    if document.failure is not None:
        failure = DocumentError(QuarantineReason.ANNOTATION_FAILED, document.failure)
        return replace(item.failed(failure), usage=document.usage, active=document.active)
    return replace(
        item,
        annotations=document.annotations,
        usage=document.usage,
        annotate_s=seconds,
        active=document.active,
    )
