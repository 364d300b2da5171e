"""The index job against the bare encoder on the same texts."""

import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import say, spread, spreads
from scp_ray.config import Settings
from scp_ray.embedding.model_folder import find_model_folder
from scp_ray.embedding.model_loading import load_model
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_SMALL_DOCUMENT = "# Orbis K-100 Kettle\n\nFill the kettle, close the lid and press the switch.\n"


class IndexJob:
    """Runs ``scp-ray index`` on the Ray cluster that this process is in, into fresh folders.

    Args:
        settings: Settings of the job.
        work: Folder for corpora and indexes.
    """

    def __init__(self, settings: Settings, work: Path) -> None:
        self._settings = settings
        self._work = work
        self._num_runs = 0
        self._small = work / "small"
        self._small.mkdir()
        (self._small / "kettle.md").write_text(_SMALL_DOCUMENT, encoding="utf-8")

    def run(self, corpus: Path) -> tuple[float, RunReport]:
        """Index a corpus; returns wall seconds and the report."""
        self._num_runs += 1
        index = self._work / f"index-{self._num_runs}"
        request = IndexRequest(str(corpus), str(index), self._settings)
        started = time.perf_counter()
        report = index_corpus(request, RayExecutor(self._settings), lambda _line: None)
        return time.perf_counter() - started, report

    def run_small(self) -> float:
        """Return the seconds of start-up: those of a corpus of one small document."""
        return self.run(self._small)[0]


class BareEncoder:
    """The encoder's own ``encode``, with the job's model, dtype, batch size and threads.

    Args:
        settings: Settings of the job.
        num_threads: CPU threads of the job's encoder.
    """

    def __init__(self, settings: Settings, num_threads: int) -> None:
        self._model: SentenceTransformer = load_model(
            find_model_folder(settings.embedding.model), settings.embedding
        )
        self._batch_size = settings.embedding.batch_size
        self._num_threads = num_threads

    def seconds(self, texts: list[str]) -> float:
        """Encode the texts and return the seconds."""
        import torch

        torch.set_num_threads(self._num_threads)
        started = time.perf_counter()
        self._model.encode(texts, batch_size=self._batch_size, show_progress_bar=False)
        return time.perf_counter() - started


def measure_index(
    job: IndexJob, corpus: Path, texts: list[str], settings: Settings, num_rounds: int
) -> dict[str, Any]:
    """Time the job and the bare encoder by turns; an untimed job has gone before.

    Args:
        job: Runs the job.
        corpus: Its corpus.
        texts: What the job embeds of it.
        settings: Its settings.
        num_rounds: Rounds of bare encoder, small corpus, job, bare encoder.
    """
    num_threads = RayExecutor(settings).encoder_threads
    encoder = BareEncoder(settings, num_threads)
    encoder.seconds(texts[: settings.embedding.batch_size])
    bare = [encoder.seconds(texts)]
    rounds: list[dict[str, float]] = []
    reports: list[RunReport] = []
    for number in range(num_rounds):
        startup_s = job.run_small()
        job_s, report = job.run(corpus)
        bare.append(encoder.seconds(texts))
        bare_s = statistics.mean(bare[-2:])
        figures = {"job_s": job_s, "startup_s": startup_s, "bare_s": bare_s}
        figures["ratio"] = bare_s / (job_s - startup_s)
        rounds.append(figures)
        reports.append(report)
        say(f"round {number + 1}: " + ", ".join(f"{k} {v:.3f}" for k, v in figures.items()))
    return {
        "num_documents": reports[0].documents["published"],
        "num_chunks": len(texts),
        "encoder_threads": num_threads,
        **spreads(rounds),
        "bare_chunks_per_s": spread([len(texts) / row["bare_s"] for row in rounds]),
        "job_chunks_per_s": spread([len(texts) / row["job_s"] for row in rounds]),
        "phase_s": spreads([report.seconds for report in reports]),
        "worker_s": spreads([report.worker_seconds for report in reports]),
    }
