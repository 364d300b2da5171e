"""Index a corpus, change 1 % of its documents, and index again: what does that cost?

Three kinds of change, each in runs of its own over the generation before, and a run without any.
Annotation asks a scripted language model over HTTP, which answers at once. The calls of each run
are checked against what the texts say. Writes ``results/bench_reindex.json``.
"""

import argparse
import logging
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray

from benchmarks.changing_manuals import (
    add_at_end,
    changed,
    edit_somewhere,
    insert_near_start,
    make_manuals,
)
from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say, spread
from benchmarks.reindex_job import ReindexJob, against_full
from benchmarks.scripted_llm_server import scripted_llm_server
from scp_ray.config import Settings, load_settings
from scp_ray.pipeline.describe_stage import describe_encoder
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.ray_executor import connect

_SEED = 1
_NUM_SHARDS = 16
_CHANGED_SHARE = 0.01
_CHANGES = {
    "edited_somewhere": edit_somewhere,
    "added_at_end": add_at_end,
    "inserted_near_start": insert_near_start,
}
_SHOWN = ("documents", "chunks", "llm_calls", "shards_built", "seconds")


def main() -> None:
    """Run the benchmark."""
    args = _arguments()
    with tempfile.TemporaryDirectory() as folder, scripted_llm_server() as server:
        settings = reindex_settings(server.url, args.set)
        encoder = describe_encoder(InProcessExecutor(), settings)
        ray.init(
            "local", include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING
        )
        connect()
        job = ReindexJob(settings, Path(folder), server, encoder.max_tokens)
        figures = measured(job, args.documents, args.rounds)
        environment = capture(settings, job.corpus)
        ray.shutdown()
    environment["data"]["name"] = "made/manuals"
    tree = settings.model_dump(
        mode="json", include={"chunking", "chop", "llm", "embedding", "index"}
    )
    path = Result(environment, {"seed": _SEED, **tree}, figures).write("bench_reindex")
    say(f"written: {path.name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2000, help="documents of the corpus")
    parser.add_argument("--rounds", type=int, default=3, help="runs after each kind of change")
    parser.add_argument(
        "--set", action="append", default=[], metavar="section.key=value", help="a setting"
    )
    return parser.parse_args()


def reindex_settings(url: str, assignments: Sequence[str] = ()) -> Settings:
    """Return the settings of the runs: the defaults, the scripted model, and 16 shards."""
    annotator = ["chop.annotator=openai", "llm.model=scripted", f"openai.base_url={url}"]
    return load_settings(None, [*annotator, f"index.num_shards={_NUM_SHARDS}", *assignments], {})


def measured(job: ReindexJob, num_documents: int, num_rounds: int) -> dict[str, Any]:
    """Run the full build, and each kind of change over it, and return the figures."""
    manuals = make_manuals(num_documents, _SEED)
    count = max(1, round(_CHANGED_SHARE * num_documents))
    rng = random.Random(_SEED)  # noqa: S311 - which documents change, no secret
    startups = [job.startup_s(), job.startup_s()]
    full = _told("full", job.run(manuals))
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in ("unchanged", *_CHANGES)}
    for _ in range(num_rounds):
        startups.append(job.startup_s())
        runs["unchanged"].append(_told("unchanged", job.run({})))
        for name, change in _CHANGES.items():
            changes = changed(manuals, change, count, rng)
            manuals |= changes
            runs[name].append(_told(name, job.run(changes)))
    startup = spread(startups)
    say(f"start-up: {startup}")
    return {
        "num_shards": _NUM_SHARDS,
        "startup_s": startup,
        "full": summed_up([full]),
        **{
            name: summed_up([{**run, **against_full(run, full, startup["median"])} for run in done])
            for name, done in runs.items()
        },
    }


def _told(name: str, run: dict[str, Any]) -> dict[str, Any]:
    shown = ", ".join(f"{key} {rounded(run[key])}" for key in _SHOWN)
    say(f"{name}: {shown}; phases {run['phase_s']}")
    return run


def summed_up(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the spread of each figure, and of the figures of each group, over runs alike."""
    return {
        name: summed_up([run[name] for run in runs])
        if isinstance(value, Mapping)
        else spread([run[name] for run in runs])
        for name, value in runs[0].items()
    }


if __name__ == "__main__":
    main()
