"""The stages before embedding: take stock of the corpus, read and chunk, annotate."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from scp_ray import schema
from scp_ray.annotators.factory import make_annotator
from scp_ray.config import Settings
from scp_ray.corpus.chunker import chunk_spans
from scp_ray.corpus.inventory import inventory_file
from scp_ray.corpus.read import read_documents
from scp_ray.embedding.factory import load_tokenizer
from scp_ray.errors import AnnotationError, DocumentError, QuarantineReason
from scp_ray.pipeline.work import WorkItem, items_from_table, items_to_table
from scp_ray.protocols import StoredObject
from scp_ray.records import Document
from scp_ray.storage.opening import open_store


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

    def __init__(self, corpus: str, settings: Settings) -> None:
        self._store = open_store(corpus)
        self._settings = settings
        self._tokenizer = load_tokenizer(settings.embedding)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``LOCATORS`` and yield ``WORK``, one table a document."""
        wanted = {row[schema.DOC_ID]: row for row in batch.to_pylist()}
        by_file: dict[str, list[int]] = {}
        for row in wanted.values():
            by_file.setdefault(row[schema.SOURCE_KEY], []).append(row[schema.ROW_INDEX])
        for key, row_indexes in by_file.items():
            for item in self._read_file(key, row_indexes, wanted):
                yield items_to_table([item])

    def _read_file(
        self, key: str, row_indexes: list[int], wanted: dict[str, dict[str, object]]
    ) -> Iterator[WorkItem]:
        started = time.perf_counter()
        for doc_id, read in read_documents(self._store, key, row_indexes, self._settings.corpus):
            row = wanted[doc_id]
            item = WorkItem(
                doc_id,
                int(str(row[schema.SHARD_ID])),
                f"{self._store.url}/{key}",
                str(row[schema.CONTENT_SHA256]),
            )
            item = self._chunked(item, read) if isinstance(read, Document) else item.failed(read)
            yield replace(item, read_s=time.perf_counter() - started)
            started = time.perf_counter()

    def _chunked(self, item: WorkItem, document: Document) -> WorkItem:
        try:
            spans = chunk_spans(document.text, self._tokenizer, self._settings.chunking)
        except DocumentError as error:
            return item.failed(error)
        return replace(
            item,
            source_uri=document.source_uri,
            metadata_json=json.dumps(dict(document.metadata), sort_keys=True, ensure_ascii=False),
            text=document.text,
            spans=spans,
        )


class AnnotateStage:
    """CHOP over whole documents, each in the order of its chunks."""

    def __init__(self, settings: Settings) -> None:
        self._annotator = make_annotator(settings.chop)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``WORK`` and yield ``WORK`` with the annotations filled in."""
        yield items_to_table([self._annotated(item) for item in items_from_table(batch)])

    def _annotated(self, item: WorkItem) -> WorkItem:
        if item.failure:
            return item
        started = time.perf_counter()
        try:
            annotations = self._annotator.annotate(item.chunk_texts)
        except AnnotationError as error:
            return item.failed(DocumentError(QuarantineReason.ANNOTATION_FAILED, str(error)))
        seconds = time.perf_counter() - started
        return replace(item, annotations=annotations, annotate_s=seconds)
