"""Sends the documents of a plan through the stages and accounts for every one of them."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from scp_ray import schema
from scp_ray.annotators.factory import annotator_revision
from scp_ray.config import Settings
from scp_ray.errors import QuarantineReason, RowAccountingError
from scp_ray.pipeline.active_documents import ActiveDocuments
from scp_ray.pipeline.embed_stage import EmbedStage, StagingTarget
from scp_ray.pipeline.executor import Executor, StageSpec
from scp_ray.pipeline.front_stages import (
    AnnotateStage,
    AnnotationSite,
    AskAheadStage,
    CutStage,
    InventoryStage,
    ReadStage,
)
from scp_ray.pipeline.plan import Locator, Quarantined, locators_table
from scp_ray.pipeline.pools import ANNOTATE_POOL, EMBED_POOL, INVENTORY_TASK, READ_POOL
from scp_ray.pipeline.report import Progress
from scp_ray.pipeline.staged_parts import StagedDocument
from scp_ray.protocols import Int64Array, StoredObject
from scp_ray.records import NO_USAGE, ActivePeriod, AnnotationUsage
from scp_ray.storage.manifest import EncoderEntry

_FILES_PER_TASK = 32
_BATCH_BYTES = 400_000  # of documents in one call of an actor: some 400 chunks
_MAX_BATCH_BYTES = 64_000_000  # of them, however uneven they are; more if one alone has more
_MAX_BATCH_DOCUMENTS = 1024
_COUNTS = (schema.NUM_CHUNKS, schema.NUM_SPANS, schema.NUM_TOKENS, schema.NUM_SHORTENED)
_SECONDS = (schema.READ_S, schema.ANNOTATE_S, schema.EMBED_S)


@dataclass
class Processed:
    """What came out of the stages.

    Attributes:
        staged: Documents whose rows are staged, by doc_id.
        quarantined: Documents that failed on the way, by doc_id.
        usage: What annotation took.
        active: Documents at work in each engine of a language model.
        totals: Sums of the counts and seconds of all outcomes, by column name.
    """

    staged: dict[str, StagedDocument] = field(default_factory=dict)
    quarantined: dict[str, Quarantined] = field(default_factory=dict)
    totals: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys((*_COUNTS, *_SECONDS), 0)
    )
    usage: AnnotationUsage = NO_USAGE
    active: ActiveDocuments = field(default_factory=ActiveDocuments)

    def add(self, row: dict[str, Any]) -> None:
        """Count one outcome.

        Raises:
            RowAccountingError: If its document came out before.
        """
        doc_id, reason = row[schema.DOC_ID], row[schema.REASON]
        if doc_id in self.staged or doc_id in self.quarantined:
            message = f"document {doc_id!r} came out of the stages twice"
            raise RowAccountingError(message)
        if reason:
            self.quarantined[doc_id] = Quarantined(
                doc_id, QuarantineReason(reason), row[schema.DETAIL]
            )
        else:
            self.staged[doc_id] = StagedDocument(row[schema.PART], row[schema.NUM_CHUNKS])
        self.usage += AnnotationUsage(**row[schema.USAGE])
        if row[schema.ACTIVE]:
            self.active.add(ActivePeriod(**row[schema.ACTIVE]))
        for name in (*_COUNTS, *_SECONDS):
            self.totals[name] += row[name]

    def rates(self) -> dict[str, float]:
        """Return how often spans go on, and how much of the prompts engines had in their cache."""
        num_pairs = self.totals[schema.NUM_CHUNKS] - len(self.staged)
        num_new = self.totals[schema.NUM_SPANS] - len(self.staged)
        prompt, cached = self.usage.prompt_tokens, self.usage.cached_prompt_tokens
        rates = {
            "continuity": 1 - num_new / num_pairs if num_pairs else None,
            "prefix_cache": min(1.0, cached / prompt) if prompt else None,  # as servers count
        }
        return {name: round(rate, 4) for name, rate in rates.items() if rate is not None}


def take_inventory(
    executor: Executor, corpus: str, files: Sequence[StoredObject], settings: Settings
) -> Iterator[pa.Table]:
    """Hash every document of the corpus; yields tables of schema ``INVENTORY``."""
    rows = [
        {schema.KEY: file.key, schema.SIZE_BYTES: file.size_bytes, schema.VERSION: file.version}
        for file in files
    ]
    inputs = pa.Table.from_pylist(rows, schema=schema.INPUTS)
    make = partial(InventoryStage, corpus, settings)
    return executor.run(inputs, [StageSpec(INVENTORY_TASK, make, _FILES_PER_TASK)])


def read_stage(
    corpus: str, settings: Settings, encoder: EncoderEntry, batch_rows: int
) -> StageSpec:
    """Return the first step of every chain over documents: read, parse, chunk."""
    make = partial(ReadStage, corpus, settings, encoder.max_tokens)
    return StageSpec("read", make, batch_rows, READ_POOL)


def process_documents(
    executor: Executor,
    corpus: str,
    todo: Sequence[Locator],
    target: StagingTarget,
    settings: Settings,
    progress: Progress,
) -> Processed:
    """Read, chunk, annotate, embed and stage documents.

    Raises:
        RowAccountingError: If a document did not come out, or came out twice.
    """
    processed = Processed()
    meter = _Meter(todo, progress)
    rows = locators_table(todo, settings.index.num_shards)
    batch_rows = batch_documents(todo, settings)
    stages = [
        read_stage(corpus, settings, target.encoder, batch_rows),
        StageSpec(
            "annotate",
            partial(AnnotateStage, settings, _site(executor, target, settings)),
            batch_rows,
            ANNOTATE_POOL,
        ),
        StageSpec(
            "embed",
            partial(EmbedStage, target, settings, executor.encoder_threads),
            batch_rows,
            EMBED_POOL,
        ),
    ]
    for outcomes in executor.run(rows, stages):
        done = outcomes.to_pylist()
        for row in done:
            processed.add(row)
        meter.advance(done)
    _check_accounts(todo, processed)
    return processed


def ask_ahead(
    executor: Executor,
    corpus: str,
    todo: Sequence[Locator],
    target: StagingTarget,
    settings: Settings,
    progress: Progress,
) -> AnnotationUsage:
    """Have all annotators together ask a language model about the long documents.

    A document is annotated by one actor, in the order of its chunks. What that one will ask about
    a long document is asked here, by all of them, and found in the annotation cache then.

    Returns:
        What was paid; the decisions are counted when the documents are annotated.
    """
    least = settings.llm.piece_chunks * settings.chunking.chunk_size_tokens  # a byte a token
    long = [locator for locator in todo if locator.size_bytes > least]
    if not settings.chop.annotator.needs_llm or executor.num_annotators == 1 or not long:
        return NO_USAGE
    progress(f"asking ahead about {len(long)} long documents")
    annotate = partial(AskAheadStage, settings, _site(executor, target, settings))
    stages = [
        read_stage(corpus, settings, target.encoder, batch_rows=1),
        StageSpec(
            "cut",
            partial(CutStage, settings.llm.piece_chunks),
            1,
            READ_POOL,
            multiplies_rows=True,
        ),
        StageSpec("ask ahead", annotate, 1, ANNOTATE_POOL),
    ]
    usage = NO_USAGE
    for asked in executor.run(locators_table(long, settings.index.num_shards), stages):
        for row in asked.to_pylist():
            usage += AnnotationUsage(**row[schema.USAGE])
    return replace(usage, decisions=0, extractions=0, cache_hits=0, fallbacks=0)


def _site(executor: Executor, target: StagingTarget, settings: Settings) -> AnnotationSite:
    return AnnotationSite(
        target.index, target.run_id, annotator_revision(settings), executor.num_annotators
    )


def batch_documents(todo: Sequence[Locator], settings: Settings) -> int:
    """Documents of one call: enough chunks to fill an encoder's batches, enough calls to share.

    Few where many long ones come together, so that a call fits into memory. One long document
    among short ones is no reason: a language model would have too few of those to work on.
    """
    if settings.cluster.documents_per_batch or not todo:
        return settings.cluster.documents_per_batch or 1
    sizes = np.array([locator.size_bytes for locator in todo], dtype=np.int64)
    by_mean = int(_BATCH_BYTES / max(float(sizes.mean()), 1.0))
    count = max(1, min(by_mean, -(-len(todo) // 4), _MAX_BATCH_DOCUMENTS))
    most_bytes = max(_MAX_BATCH_BYTES, int(sizes.max()) + _BATCH_BYTES)
    while count > 1 and _largest_batch(sizes, count) > most_bytes:
        count //= 2
    return count


def _largest_batch(sizes: Int64Array, count: int) -> int:
    """Return the bytes of the ``count`` neighbours that have most."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return int((ends[count:] - ends[:-count]).max())


def _check_accounts(todo: Iterable[Locator], processed: Processed) -> None:
    expected = {locator.doc_id for locator in todo}
    came_out = processed.staged.keys() | processed.quarantined.keys()
    if expected != came_out:
        lost, invented = sorted(expected - came_out), sorted(came_out - expected)
        message = (
            f"{len(lost)} documents were lost between the stages (first: {lost[:3]}) and "
            f"{len(invented)} appeared that were not asked for (first: {invented[:3]}); "
            "nothing was published"
        )
        raise RowAccountingError(message)


class _Meter:
    """Tells how far the work is, at what rate, and when it will end."""

    def __init__(self, todo: Sequence[Locator], progress: Progress) -> None:
        self._sizes = {locator.doc_id: locator.size_bytes for locator in todo}
        self._total_bytes = sum(self._sizes.values())
        self._progress = progress
        self._started = time.monotonic()
        self._documents = self._chunks = self._bytes = 0

    def advance(self, rows: list[dict[str, Any]]) -> None:
        """Count outcomes and report."""
        self._documents += len(rows)
        self._chunks += sum(row[schema.NUM_CHUNKS] for row in rows)
        self._bytes += sum(self._sizes.get(row[schema.DOC_ID], 0) for row in rows)
        elapsed = max(time.monotonic() - self._started, 1e-9)
        left = elapsed * (self._total_bytes - self._bytes) / max(self._bytes, 1)
        self._progress(
            f"embedded {self._documents}/{len(self._sizes)} documents, {self._chunks} chunks, "
            f"{self._chunks / elapsed:.1f} chunks/s, {left:.0f} s left"
        )
