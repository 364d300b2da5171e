"""One long document made from a seed, and a run over it in a process of its own."""

import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.figures import rounded
from scp_ray.config import Settings, load_settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus

MEGABYTE = 1_000_000
_STATUS = Path("/proc/self/status")
_KIB = 1024
_SEED = 1
_SMALL = 0.5  # megabytes of the run that goes before, for what is loaded only once
_SYLLABLES = "ba co di fu ga he li mo nu pa re si to va we zo cha pri ste tru".split()
_NUM_WORDS = 6000
_SECTION_WORDS = 40  # that a section has for itself beside the common ones
_COMMON_SHARE = 0.5
_SENTENCES = (20, 60)  # of a section
_SENTENCE_WORDS = (6, 18)
_SECTIONS = 12  # of a product


def write_long_document(path: Path, megabytes: float, seed: int = _SEED) -> None:
    """Write a Markdown file of manuals, one product after the other, without near-duplicates.

    Args:
        path: The file.
        megabytes: Its size, to a paragraph.
        seed: The same one gives the same bytes.
    """
    remaining = int(megabytes * MEGABYTE)
    with path.open("w", encoding="ascii", newline="\n") as file:
        for paragraph in _paragraphs(random.Random(seed)):  # noqa: S311 - text, no secret
            remaining -= file.write(paragraph)
            if remaining <= 0:
                return


def _paragraphs(rng: random.Random) -> Iterator[str]:
    words = sorted(
        {"".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(_NUM_WORDS)}
    )
    common, number = rng.sample(words, _SECTION_WORDS), 0
    while True:
        if number % _SECTIONS == 0:
            name = rng.choice(words).title()
            yield f"# {name} {rng.choice('ABCDEK')}-{100 + number} {rng.choice(words).title()}\n\n"
        number += 1
        own = rng.sample(words, _SECTION_WORDS)
        yield f"## {' '.join(rng.sample(own, 2)).capitalize()}\n\n"
        for _ in range(rng.randint(*_SENTENCES)):
            yield _sentence(rng, common, own)
        yield "\n\n"


def _sentence(rng: random.Random, common: list[str], own: list[str]) -> str:
    drawn = [
        rng.choice(common if rng.random() < _COMMON_SHARE else own)
        for _ in range(rng.randint(*_SENTENCE_WORDS))
    ]
    return " ".join(drawn).capitalize() + ". "


def long_document_settings() -> Settings:
    """Return the settings of the runs: one shard, and the encoder that costs least."""
    return load_settings(None, ["embedding.model=hash://32", "index.num_shards=1"], {})


def measure_long_document(megabytes: float, settings: Settings) -> dict[str, Any]:
    """Index a long document in a new process, and say what it cost.

    Returns:
        ``megabytes``; ``num_chunks``; ``base_mib``, the peak of resident memory in the run over a
        small document that went before in that process; ``peak_mib``; ``mib_per_megabyte``, of
        what the long document added; ``seconds`` and ``stage_s`` by the clock; ``cpu_s`` and
        ``cpu_s_per_megabyte``, which other work on the machine disturbs less.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, megabytes, settings).result()


def _measure(megabytes: float, settings: Settings) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        small, long = Path(folder, "small"), Path(folder, "long")
        for corpus, size in ((small, _SMALL), (long, megabytes)):
            corpus.mkdir()
            write_long_document(corpus / "long.md", size)
        _index(small, settings)
        base_mib = peak_resident_mib()
        started = time.process_time()
        report = _index(long, settings)
        cpu_s = time.process_time() - started
    peak_mib = peak_resident_mib()
    return {
        "megabytes": megabytes,
        "num_chunks": report.chunks["published"],
        "base_mib": rounded(base_mib),
        "peak_mib": rounded(peak_mib),
        "mib_per_megabyte": rounded((peak_mib - base_mib) / megabytes),
        "seconds": rounded(sum(report.seconds.values())),
        "cpu_s": rounded(cpu_s),
        "cpu_s_per_megabyte": rounded(cpu_s / megabytes),
        "stage_s": {"prepare": report.seconds["prepare"], **report.worker_seconds},
    }


def _index(corpus: Path, settings: Settings) -> RunReport:
    request = IndexRequest(str(corpus), f"{corpus}-index", settings)
    return index_corpus(request, InProcessExecutor(), lambda _line: None)


def peak_resident_mib() -> float:
    """Return the most memory that this process has had resident, in MiB (Linux).

    Not ``getrusage``: a new process inherits the peak of the one that started it there.
    """
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM"))
    return int(line.split()[1]) / _KIB
