"""Runs of the index job over a corpus that changes, each held against what it had to do."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.annotation_keys import Chunker, annotation_keys
from benchmarks.changing_manuals import Manuals
from benchmarks.scripted_llm_server import LlmServer
from benchmarks.written_bytes import WrittenBytes
from scp_ray.config import Settings
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus

_SMALL_DOCUMENT = "# Orbis K-100 Kettle\n\nFill the kettle, close the lid and press the switch.\n"


class ReindexJob:
    """Runs ``scp-ray index`` on the Ray cluster that this process is in, over one index.

    Args:
        settings: Settings of the job.
        work: Folder for corpora and indexes.
        server: The language model that the settings name.
        max_tokens: Of their encoder.
    """

    def __init__(self, settings: Settings, work: Path, server: LlmServer, max_tokens: int) -> None:
        self._settings = settings
        self._work = work
        self._server = server
        self._chunker = Chunker(settings, max_tokens)
        self._chunks: dict[str, list[str]] = {}
        self._asked: set[bytes] = set()
        self._num_small = 0
        self.corpus = work / "corpus"
        self.corpus.mkdir()

    def startup_s(self) -> float:
        """Return the seconds of a run over one small document into an empty index."""
        self._num_small += 1
        corpus = self._work / f"small-{self._num_small}"
        corpus.mkdir()
        (corpus / "kettle.md").write_text(_SMALL_DOCUMENT, encoding="utf-8")
        return _seconds(self._index(corpus, None))

    def run(self, changes: Manuals) -> dict[str, Any]:
        """Write some manuals into the corpus, index it, and say what that took.

        Raises:
            RuntimeError: If the run did or paid for other work than the changes are.
        """
        after = {doc_id: self._chunker.chunks(text) for doc_id, text in changes.items()}
        to_ask = annotation_keys(after) - self._asked
        earlier = {chunk for doc_id in after for chunk in self._chunks.get(doc_id, [])}
        chunks = [chunk for document in after.values() for chunk in document]
        for doc_id, text in changes.items():
            (self.corpus / doc_id).write_text(text, encoding="utf-8")
        written = WrittenBytes(self._work / "corpus-index")
        calls_before = self._server.num_calls()
        report = self._index(self.corpus, written)
        _check("calls of the model", report.annotation["llm_calls"], len(to_ask))
        _check("requests at the server", self._server.num_calls() - calls_before, len(to_ask))
        _check("chunks embedded", report.chunks["embedded"], len(chunks))
        self._asked |= to_ask
        self._chunks |= after
        return {
            "documents": len(changes),
            "chunks": len(chunks),
            "chunks_with_new_text": sum(chunk not in earlier for chunk in chunks),
            "llm_calls": len(to_ask),
            "llm_cache_hits": report.annotation["cache_hits"],
            "chunks_kept": report.chunks["kept"],
            "shards_built": report.shards["built"],
            "seconds": _seconds(report),
            "phase_s": dict(report.seconds),
            "worker_s": dict(report.worker_seconds),
            "written_bytes": written.by_kind(),
        }

    def _index(self, corpus: Path, written: WrittenBytes | None) -> RunReport:
        request = IndexRequest(str(corpus), f"{corpus}-index", self._settings)

        def look(_line: str) -> None:
            if written:
                written.look()

        return index_corpus(request, RayExecutor(self._settings), look)


def _seconds(report: RunReport) -> float:
    return sum(report.seconds.values())


def _check(name: str, found: int, expected: int) -> None:
    if found != expected:
        message = f"{name}: {found}, but the texts say {expected}"
        raise RuntimeError(message)


def against_full(
    run: Mapping[str, Any], full: Mapping[str, Any], startup_s: float
) -> dict[str, float]:
    """Return the time of a run against the full build, without start-up and with it, and bytes."""
    return {
        "ratio": (run["seconds"] - startup_s) / (full["seconds"] - startup_s),
        "ratio_with_startup": run["seconds"] / full["seconds"],
        "bytes_ratio": run["written_bytes"]["all"] / full["written_bytes"]["all"],
    }
