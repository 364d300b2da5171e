"""Time annotation by a language model: is its engine kept busy, also by uneven documents?

``utilisation``: one engine of vLLM in an actor of the pipeline on Ray against the bare engine that
is given the same prompts all at once, and against one request at a time. ``skew``: a corpus of
which one document holds half against the same text in even documents, on that engine, and with
many more documents on engines that are scripted. Writes ``results/bench_annotate.json`` and
``results/bench_skew.json``. The engine has all cores, which it shares with all else in the
pipeline. With ``--engine-cores`` it is held to some of them, so that the rest has others to run on:
``results/bench_annotate_own_cores.json``.
"""

import argparse
import logging
import os
import tempfile
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import ray

from benchmarks.annotate_job import AnnotateJob, Asked, BareRun, JobRun, ask_bare
from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say, spreads
from benchmarks.made_llm import ModelShape, write_llm
from benchmarks.memory_job import write_documents
from benchmarks.scripted_engine import ServiceModel
from benchmarks.skewed_corpus import measure_scripted
from scp_ray.chop.prompting import continuity_request
from scp_ray.config import Settings, load_settings, set_engine_environment
from scp_ray.corpus.chunker import chunk_spans
from scp_ray.embedding.factory import load_tokenizer
from scp_ray.pipeline.ray_executor import connect

_DOCUMENT_BYTES = 16_000
_OTHER_DOCUMENTS = 4  # for the model to be made by, and for one request at a time
_MAX_SEQS = 64  # what keeps two cores busy
_MAX_MODEL_LEN = 4096
_TIMEOUT_S = 3600  # all requests wait at once, so the last one waits long


def main() -> None:
    """Run the parts that the arguments ask for, and write the figures."""
    args = _parser().parse_args()
    all_cores = f"0-{(os.cpu_count() or 1) - 1}"
    set_engine_environment({"VLLM_CPU_OMP_THREADS_BIND": args.engine_cores or all_cores})
    with tempfile.TemporaryDirectory() as folder:
        corpora = _write_corpora(Path(folder), args.documents)
        settings = _settings()
        environment = capture(settings, corpora.even)
        environment["data"]["name"] = "made/manuals"
        tree = settings.model_dump(mode="json", include={"chunking": True, "vllm": True})
        tree |= {"lookahead": settings.llm.lookahead, "piece_chunks": settings.llm.piece_chunks}
        if args.only != "engine":
            figures = measure_scripted(args.scripted[0], args.scripted[1], ServiceModel())
            _write("bench_skew", Result(environment, tree, figures))
        if args.only != "scripted":
            model = args.model or _write_model(Path(folder, "model"), corpora.others)
            tree["model"] = args.model.name if args.model else asdict(ModelShape())
            environment["versions"]["vllm"] = _vllm_version()
            settings = settings.with_values("llm", model=str(model))
            figures = _measure_engine(Path(folder), corpora, settings, args.repeat)
            tree["engine_cores"] = args.engine_cores or all_cores
            name = "bench_annotate_own_cores" if args.engine_cores else "bench_annotate"
            _write(name, Result(environment, tree, figures))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="folder of a model; one is made by default")
    parser.add_argument(
        "--documents", type=int, default=64, help="documents of the engine's corpus"
    )
    parser.add_argument("--repeat", type=int, default=3, help="rounds of both sides")
    parser.add_argument(
        "--scripted",
        type=int,
        nargs=2,
        default=[1000, 100_000],
        metavar=("DOCUMENTS", "CHUNKS"),
        help="size of the corpus for scripted engines",
    )
    parser.add_argument("--engine-cores", metavar="LIST", help="the engine's cores, like 0 or 0-3")
    parser.add_argument("--only", choices=["engine", "scripted"], help="run one of the two")
    return parser


def _write(name: str, result: Result) -> None:
    say(f"written: {result.write(name).name}")


class _Corpora(NamedTuple):
    """Folders of documents.

    Attributes:
        even: Documents of one size.
        skewed: The same text, half of it in one document.
        others: Chunks of documents that are in neither.
    """

    even: Path
    skewed: Path
    others: list[list[str]]


def _write_corpora(work: Path, num_documents: int) -> _Corpora:
    even, skewed = work / "even", work / "skewed"
    even.mkdir()
    skewed.mkdir()
    write_documents(even, num_documents + _OTHER_DOCUMENTS, _DOCUMENT_BYTES)
    files = sorted(even.iterdir())
    others = [file.read_text(encoding="ascii") for file in files[num_documents:]]
    for file in files[num_documents:]:
        file.unlink()
    texts = [file.read_text(encoding="ascii") for file in files[:num_documents]]
    half = num_documents // 2
    (skewed / files[0].name).write_text("".join(texts[:half]), encoding="ascii")
    for file, text in zip(files[half:num_documents], texts[half:], strict=True):
        (skewed / file.name).write_text(text, encoding="ascii")
    return _Corpora(even, skewed, [_chunks(text) for text in others])


def _chunks(text: str) -> list[str]:
    settings = _settings()
    tokenizer = load_tokenizer(settings.embedding)
    spans = chunk_spans(text, tokenizer, settings.chunking, settings.vllm.max_model_len)
    return [text[span.char_start : span.char_end] for span in spans]


def _write_model(folder: Path, documents: list[list[str]]) -> Path:
    say("making a language model")
    pairs = [pair for document in documents for pair in pairwise(document)]
    write_llm(folder, ModelShape(), [continuity_request(*pair) for pair in pairs])
    return folder


def _settings() -> Settings:
    return load_settings(
        None,
        [
            "embedding.model=hash://32",
            "index.num_shards=1",
            "chop.annotator=vllm",
            f"llm.timeout_s={_TIMEOUT_S}",
            f"vllm.max_num_seqs={_MAX_SEQS}",
            f"vllm.max_model_len={_MAX_MODEL_LEN}",
            "vllm.enforce_eager=true",
        ],
        {},
    )


def _measure_engine(
    work: Path, corpora: _Corpora, settings: Settings, num_rounds: int
) -> dict[str, Any]:
    """Time pipeline and bare engine by turns, then uneven documents, each with a new engine."""
    job = AnnotateJob(work)
    rounds = [_measured_round(job, corpora, settings) for _ in range(num_rounds)]
    figures = spreads([one.figures for one in rounds])
    even, bare = rounds[-1].even, rounds[-1].bare
    even_chunks_per_s = figures["pipeline_chunks_per_s"]["median"]
    skewed = _run_job(job, corpora.skewed, settings)
    slow = _run_job(job, corpora.skewed, settings.with_values("llm", lookahead=1))
    return {
        "documents": even.report.documents["published"],
        "chunks": even.num_chunks,
        "calls": len(even.marks.begun),
        "asked": asdict(even.asked),
        "asked_bare": asdict(bare.at_once),
        **figures,
        "skewed_chunks_per_s": rounded(skewed.chunks_per_s),
        "skewed_ratio": rounded(even_chunks_per_s / skewed.chunks_per_s),
        "no_lookahead_ratio": rounded(even_chunks_per_s / slow.chunks_per_s),
    }


class _Round(NamedTuple):
    """One round: the pipeline, the bare engine on the same prompts, and their figures."""

    even: JobRun
    bare: BareRun
    figures: dict[str, float]


def _measured_round(job: AnnotateJob, corpora: _Corpora, settings: Settings) -> _Round:
    even = _run_job(job, corpora.even, settings)
    bare = ask_bare(settings, even.requests(), corpora.others)
    _check_same(even.asked, bare.at_once)
    strict_chunks_per_s = sum(map(len, corpora.others)) / bare.strict.seconds
    figures = {
        "load": os.getloadavg()[0],
        "pipeline_s": even.marks.seconds,
        "bare_s": bare.at_once.seconds,
        "ratio": bare.at_once.seconds / even.marks.seconds,
        "pipeline_chunks_per_s": even.chunks_per_s,
        "bare_chunks_per_s": even.num_chunks / bare.at_once.seconds,
        "strict_chunks_per_s": strict_chunks_per_s,
        "speed_up": even.chunks_per_s / strict_chunks_per_s,
    }
    say(", ".join(f"{name} {value:.3f}" for name, value in figures.items()))
    return _Round(even, bare, figures)


def _run_job(job: AnnotateJob, corpus: Path, settings: Settings) -> JobRun:
    """Run the job on a cluster of this machine, which is gone while the bare engine runs."""
    ray.init("local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        connect()
        return job.run(corpus, settings)
    finally:
        ray.shutdown()


def _check_same(ours: Asked, bare: Asked) -> None:
    same = ("num_requests", "prompt_tokens")
    if any(getattr(ours, name) != getattr(bare, name) for name in same):
        message = f"the two sides were not asked the same: {ours} and {bare}"
        raise RuntimeError(message)


def _vllm_version() -> str:
    import vllm

    return str(vllm.__version__)


if __name__ == "__main__":
    main()
