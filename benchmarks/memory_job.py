"""Many documents made from a seed, and a run over them on Ray, in processes of their own."""

import logging
import os
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ray

from benchmarks.figures import rounded
from benchmarks.process_memory import MemorySampler, Peaks, Role
from scp_ray.config import Settings, load_settings
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor, connect
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus

_MIB = 2**20
_SEED = 1
_SYLLABLES = "ba co di fu ga he li mo nu pa re si to va we zo cha pri ste tru".split()
_NUM_WORDS = 6000
_NUM_SENTENCES = 20_000  # that documents are drawn from
_SENTENCE_WORDS = (6, 18)
_PARAGRAPH_SENTENCES = 8


@dataclass(frozen=True, slots=True)
class MemoryCase:
    """One run to be measured.

    Attributes:
        num_documents: Documents of its corpus.
        num_shards: Shards of its index.
        object_store_mb: Size of Ray's object store in MB; None = what Ray takes.
    """

    num_documents: int
    num_shards: int
    object_store_mb: int | None = None


def write_documents(folder: Path, count: int, num_bytes: int, seed: int = _SEED) -> None:
    """Write Markdown files of equal size, the first ones the same whatever their count.

    Args:
        folder: Where to.
        count: Files.
        num_bytes: Size of each, to a paragraph.
        seed: The same one gives the same bytes.
    """
    rng = random.Random(seed)  # noqa: S311 - text, no secret
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(_NUM_WORDS)]
    sentences = [
        " ".join(rng.choices(words, k=rng.randint(*_SENTENCE_WORDS))).capitalize() + ". "
        for _ in range(_NUM_SENTENCES)
    ]
    for number in range(count):
        path = folder / f"manual_{number:06d}.md"
        path.write_text(_document(rng, sentences, number, num_bytes), encoding="ascii")


def _document(rng: random.Random, sentences: list[str], number: int, num_bytes: int) -> str:
    parts = [f"# Orbis K-{number} Kettle - User Manual\n\n"]
    size = 0
    while size < num_bytes:
        parts.append("".join(rng.choices(sentences, k=_PARAGRAPH_SENTENCES)) + "\n\n")
        size += len(parts[-1])
    return "".join(parts)


def memory_settings(num_shards: int) -> Settings:
    """Return the settings of a run: the encoder that costs least, and so many shards."""
    return load_settings(None, ["embedding.model=hash://32", f"index.num_shards={num_shards}"], {})


def measure_memory(case: MemoryCase, document_bytes: int) -> dict[str, Any]:
    """Index documents in a new process with a new cluster, and say what memory it all took.

    Returns:
        The case and the size of its corpus. In MiB, what was taken beside the object store at the
        peaks of ``driver``, of the ``largest_worker``, of all ``workers`` and of
        ``driver_and_workers`` together; ``resident``, which is the last one with the files that
        are mapped, libraries above all; and the peaks of the ``object_store``, as far as it is
        resident, and of what was ``spilled``.
    """
    with tempfile.TemporaryDirectory() as work:
        corpus, spill = Path(work, "corpus"), Path(work, "spill")
        corpus.mkdir()
        spill.mkdir()
        write_documents(corpus, case.num_documents, document_bytes)
        size = sum(path.stat().st_size for path in corpus.iterdir())
        started = time.perf_counter()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            driver = pool.submit(os.getpid).result()
            with MemorySampler(driver, spill) as sampler:
                report = pool.submit(_index_on_ray, corpus, case, spill).result()
        seconds = time.perf_counter() - started
    return {
        "documents": report.documents["published"],
        "chunks": report.chunks["published"],
        "shards": case.num_shards,
        "corpus_mb": rounded(size / 1e6),
        "object_store_limit_mb": case.object_store_mb,
        "seconds": rounded(seconds),
        **_mebibytes(sampler.peaks),
    }


def _index_on_ray(corpus: Path, case: MemoryCase, spill: Path) -> RunReport:
    limit = case.object_store_mb
    ray.init(
        "local",
        object_store_memory=limit * 1_000_000 if limit else None,
        object_spilling_directory=str(spill),
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    try:
        connect()
        settings = memory_settings(case.num_shards)
        request = IndexRequest(str(corpus), f"{corpus}-index", settings)
        return index_corpus(request, RayExecutor(settings), lambda _line: None)
    finally:
        ray.shutdown()


def _mebibytes(peaks: Peaks) -> dict[str, float]:
    sizes = {
        "driver_mib": peaks.heap_bytes[Role.DRIVER],
        "largest_worker_mib": peaks.largest_heap_bytes[Role.WORKER],
        "workers_mib": peaks.heap_bytes[Role.WORKER],
        "driver_and_workers_mib": peaks.together_heap_bytes,
        "resident_mib": peaks.together_resident_bytes,
        "object_store_mib": peaks.object_store_bytes,
        "spilled_mib": peaks.spilled_bytes,
    }
    return {
        **{name: rounded(size / _MIB) for name, size in sizes.items()},
        "num_workers": peaks.num_processes[Role.WORKER],
    }
