"""One run: from a corpus to a published generation."""

import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version

from scp_ray import __version__, schema
from scp_ray.annotators.factory import annotator_revision
from scp_ray.errors import (
    ConfigError,
    EmptyCorpusError,
    RemovalGuardError,
    RowAccountingError,
    RunInterruptedError,
    ScpRayError,
    StorageError,
)
from scp_ray.pipeline.embed_stage import StagingTarget
from scp_ray.pipeline.executor import Executor
from scp_ray.pipeline.generation_terms import heal_terms, publish_terms
from scp_ray.pipeline.interrupt import shielded
from scp_ray.pipeline.plan import (
    DocumentState,
    PublishedDocument,
)
from scp_ray.pipeline.preparation import IndexRequest, Preparation, prepare
from scp_ray.pipeline.processing import Processed, ask_ahead, process_documents
from scp_ray.pipeline.report import Progress, RunReport, RunStatus
from scp_ray.pipeline.shard_plan import make_shards, shard_contents
from scp_ray.pipeline.staged_parts import StagedDocument, delete_parts, staged_documents
from scp_ray.storage.generations import require_files
from scp_ray.storage.keys import generation_folder
from scp_ray.storage.lease import acquire, kept_alive
from scp_ray.storage.manifest import FORMAT_VERSION, Manifest, ShardEntry, TermsEntry
from scp_ray.storage.opening import is_inside, open_existing, open_store
from scp_ray.storage.publish import commit, require_fence

_log = logging.getLogger(__name__)


def index_corpus(request: IndexRequest, executor: Executor, progress: Progress) -> RunReport:
    """Build or re-index, and publish.

    The report is written to the index whatever happens; on an error it is raised after that.

    Returns:
        The report; its status is ``done``, or ``partial`` when documents were quarantined.

    Raises:
        ScpRayError: As it says; nothing was published then.
    """
    request = replace(
        request, corpus=open_existing(request.corpus).url, index=open_store(request.index).url
    )
    if is_inside(request.index, request.corpus):
        message = f"the index {request.index} must not be inside its corpus {request.corpus}"
        raise ConfigError(message)
    report = RunReport(_new_run_id(), request.corpus, request.index)
    report.settings_hash = request.settings.hash
    try:
        _Run(request, executor, progress, report).execute()
    except BaseException as error:
        interrupted = isinstance(error, RunInterruptedError)
        report.status = RunStatus.INTERRUPTED if interrupted else RunStatus.FAILED
        report.error = str(error) if isinstance(error, ScpRayError) else repr(error)
        raise
    finally:
        _save(report)
    return report


def _save(report: RunReport) -> None:
    try:
        report.save(open_store(report.index))
    except StorageError as error:  # must not take the place of what ended the run
        _log.warning("the run report cannot be written: %s", error)


class _Run:
    """One run and what it has found so far."""

    def __init__(
        self, request: IndexRequest, executor: Executor, progress: Progress, report: RunReport
    ) -> None:
        self._request = request
        self._executor = executor
        self._progress = progress
        self._report = report
        self._store = open_store(request.index)

    def execute(self) -> None:
        """Take the lease, prepare, process, build, commit."""
        lease_s = self._request.settings.publish.lease_s
        self._lease = acquire(self._store, self._report.run_id, lease_s, self._progress)
        with kept_alive(self._lease, lease_s):
            self._execute()

    def _execute(self) -> None:
        with self._timed("prepare"):
            prepared = prepare(self._request, self._executor, self._progress)
        self._report.count_plan(prepared.plan)
        self._guard(prepared)
        with self._timed("process"):
            processed = self._process(prepared)
        kept = self._kept(prepared, processed)
        self._lease.check()
        with self._timed("build"):
            shards = self._build(prepared, processed, kept)
        self._lease.check()
        with self._timed("commit"):
            self._commit(prepared, shards, {done.part for done in processed.staged.values()})
        partial = bool(self._report.quarantined)
        self._report.status = RunStatus.PARTIAL if partial else RunStatus.DONE

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._report.seconds[phase] = round(time.perf_counter() - started, 3)

    def _guard(self, prepared: Preparation) -> None:
        removed = prepared.plan.count(DocumentState.REMOVED)
        self._refuse_losing(removed, prepared, f"are gone from {self._request.corpus}")

    def _refuse_losing(self, lost: int, prepared: Preparation, how: str) -> None:
        limit = self._request.settings.publish.max_removed_fraction
        if lost > limit * len(prepared.published) and not self._request.allow_removals:
            message = (
                f"{lost} of {len(prepared.published)} published documents {how}, more than "
                f"publish.max_removed_fraction ({limit:g}) allows; check the corpus, or give "
                "--allow-removals if they are meant to go"
            )
            raise RemovalGuardError(message)

    def _process(self, prepared: Preparation) -> Processed:
        todo = prepared.plan.todo
        adopted = staged_documents(self._store, todo, prepared.fingerprint)
        remaining = [locator for locator in todo if locator.doc_id not in adopted]
        if adopted:
            self._progress(f"taking over {len(adopted)} documents that an earlier run staged")
        target = StagingTarget(
            self._request.index,
            self._report.run_id,
            prepared.fingerprint,
            prepared.encoder,
        )
        executor, corpus, settings = self._executor, self._request.corpus, self._request.settings
        asked_ahead = ask_ahead(executor, corpus, remaining, target, settings, self._progress)
        if settings.llm.max_calls is not None:
            left = max(0, settings.llm.max_calls - asked_ahead.llm_calls)
            settings = settings.with_values("llm", max_calls=left)
        processed = process_documents(executor, corpus, remaining, target, settings, self._progress)
        processed.usage += asked_ahead
        self._count(processed, adopted)
        processed.staged.update(adopted)
        return processed

    def _count(self, processed: Processed, adopted: dict[str, StagedDocument]) -> None:
        totals = processed.totals
        chunks, spans = int(totals[schema.NUM_CHUNKS]), int(totals[schema.NUM_SPANS])
        self._report.chunks = {
            "embedded": chunks,
            "adopted": sum(document.num_chunks for document in adopted.values()),
        }
        self._report.annotation = {
            **asdict(processed.usage),
            "spans": spans,
            "prefixes_shortened": int(totals[schema.NUM_SHORTENED]),
        }
        self._report.annotation_rates = processed.rates()
        self._report.active_documents = processed.active.timelines()
        self._report.tokens_embedded = int(totals[schema.NUM_TOKENS])
        for column in (schema.READ_S, schema.ANNOTATE_S, schema.EMBED_S):
            self._report.worker_seconds[column.removesuffix("_s")] = round(totals[column], 3)

    def _kept(self, prepared: Preparation, processed: Processed) -> dict[str, PublishedDocument]:
        """Return the published documents that the new generation takes over, by their new names.

        Those that did not change, and the previous version of those that failed, as long as its
        vectors are of the same encoder.
        """
        kept = dict(prepared.plan.unchanged)
        failures = [*prepared.plan.quarantined, *processed.quarantined.values()]
        for number, failure in enumerate(failures):
            previous = prepared.previous_version(failure.doc_id)
            if previous is not None:
                kept[failure.doc_id] = previous
                failures[number] = replace(failure, kept_previous=True)
        self._report.quarantined = sorted(failures, key=lambda failure: failure.doc_id)
        self._report.documents[DocumentState.QUARANTINED] = len(failures)
        for doc_id in processed.quarantined:  # counted as new or changed by the plan
            self._report.documents[prepared.plan.states[doc_id]] -= 1
        if not kept and not processed.staged and not prepared.published:
            raise EmptyCorpusError(self._nothing_to_index())
        taken_over = {document.doc_id for document in kept.values()}
        lost = len(prepared.published.keys() - taken_over - processed.staged.keys())
        self._refuse_losing(lost, prepared, "would be missing from the new generation")
        return kept

    def _nothing_to_index(self) -> str:
        problems = "; ".join(
            f"{failure.doc_id}: {failure.reason}, {failure.detail}"
            for failure in self._report.quarantined[:3]
        )
        return f"{self._request.corpus} has no document that can be indexed. {problems}".strip()

    def _build(
        self, prepared: Preparation, processed: Processed, kept: dict[str, PublishedDocument]
    ) -> list[ShardEntry]:
        settings, parent = self._request.settings, prepared.state.manifest
        contents = shard_contents(processed.staged, kept, settings.index.num_shards)
        made = make_shards(
            self._executor, self._request.index, contents, parent, settings, self._progress
        )
        self._check_accounts(made.entries, processed, kept)
        self._report.worker_seconds["build"] = round(made.seconds, 3)
        reused = len(made.entries) - made.num_built
        self._report.shards = {"built": made.num_built, "reused": reused}
        return made.entries

    def _check_accounts(
        self,
        shards: list[ShardEntry],
        processed: Processed,
        kept: dict[str, PublishedDocument],
    ) -> None:
        found = sum(entry.num_documents for entry in shards)
        num_chunks = sum(entry.num_chunks for entry in shards)
        expected = len(processed.staged) + len(kept)
        kept_chunks = sum(document.num_chunks for document in kept.values())
        staged_chunks = sum(document.num_chunks for document in processed.staged.values())
        expected_chunks = staged_chunks + kept_chunks
        if (found, num_chunks) != (expected, expected_chunks):
            message = (
                f"the shards hold {found} documents with {num_chunks} chunks instead of "
                f"{expected} with {expected_chunks}; nothing was published"
            )
            raise RowAccountingError(message)
        self._report.documents["published"] = found
        self._report.chunks |= {
            "kept": kept_chunks,
            "published": num_chunks,
        }

    def _commit(self, prepared: Preparation, shards: list[ShardEntry], parts: set[str]) -> None:
        parent = prepared.state.manifest
        if parent and parent.shards == shards:
            heal_terms(self._store, parent)
            self._delete_parts(parts)
            self._report.generation = parent.generation
            self._progress(f"nothing changed; generation {parent.generation} stays")
            return
        folder = generation_folder(prepared.state.next_generation, self._report.run_id)
        terms = publish_terms(self._store, shards, folder)
        manifest = self._manifest(prepared, shards, terms)
        require_files(self._store, manifest)  # of shards taken over, too
        with shielded():
            commit(self._store, prepared.state, manifest, self._lease.fence)
            self._report.generation, self._report.published = manifest.generation, True
            self._delete_parts(parts)
        self._progress(f"published generation {manifest.generation}")

    def _delete_parts(self, parts: set[str]) -> None:
        """Delete what was taken in; what stays is for ``gc``."""
        try:
            require_fence(self._store, self._lease.fence)  # a later run may have adopted them
            delete_parts(self._store, self._report.run_id, parts)
        except StorageError as error:
            _log.warning("staged parts are left for `scp-ray gc`: %s", error)

    def _manifest(
        self, prepared: Preparation, shards: list[ShardEntry], terms: TermsEntry
    ) -> Manifest:
        settings, parent = self._request.settings, prepared.state.manifest
        return Manifest(
            format_version=FORMAT_VERSION,
            generation=prepared.state.next_generation,
            run_id=self._report.run_id,
            parent=parent.generation if parent else None,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            corpus=self._request.corpus,
            num_documents=sum(entry.num_documents for entry in shards),
            num_chunks=sum(entry.num_chunks for entry in shards),
            encoder=prepared.encoder,
            annotator_revision=annotator_revision(settings),
            fingerprint=prepared.fingerprint,
            settings=settings.model_dump(mode="json"),
            settings_hash=settings.hash,
            software={
                "scp-ray": __version__,
                **{name: version(name) for name in ("ray", "faiss-cpu", "sentence-transformers")},
            },
            terms=terms,
            shards=shards,
        )


def _new_run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
