"""Memory and latency of the service while an index under it goes from generation to generation."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.figures import rounded, say, spread
from benchmarks.serve_asking import Asker
from benchmarks.serve_bench import Bench, summed_up
from benchmarks.serve_corpus import made_rows, publish_rows
from benchmarks.serve_memory import replica_memory
from benchmarks.serve_process import Served
from benchmarks.serve_service import service
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current

NUM_GENERATIONS = 3
_TAKEN_S, _PAUSE_S = 120.0, 0.2
_SETTLE_S = 5.0  # the generation before is let go
_GROUPS = (1, 4)


def measure_generations(bench: Bench) -> dict[str, Any]:
    """Return memory and p50 with one, two and three generations in the index, each served in turn.

    All have other vectors. The first load of each generation is not counted: it brings the files
    into memory.
    """
    figures: dict[str, Any] = {}
    for num_groups in _GROUPS:
        say(f"generations in {num_groups} groups")
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder, "index")
            shutil.copytree(bench.corpus.sharded_index, index)
            figures[f"groups_{num_groups}"] = _over_generations(bench, index, num_groups)
    return figures


def _over_generations(bench: Bench, index: Path, num_groups: int) -> dict[str, Any]:
    num_chunks = load_current(open_store(str(index))).num_chunks
    settings = bench.serve_settings(num_groups=num_groups, cpus_per_replica=0.1, poll_s=1.0)
    figures: dict[str, Any] = {}
    with service(index, settings) as served:
        for generation in range(1, NUM_GENERATIONS + 1):
            taken_s = 0.0
            if generation > 1:
                _publish(bench, index, num_chunks, generation)
                taken_s = _seconds_until_taken(served, generation)
            loads = [bench.load(f"generation {generation}", served.port, 1)]
            loads += [bench.load(f"generation {generation}", served.port, 1)]
            time.sleep(_SETTLE_S)
            memory = replica_memory(served.pid)
            figures[str(generation)] = {
                "taken_s": spread([taken_s]),
                "load": summed_up(loads[1:]),
                "front": memory.get("front", {}),
                "all": _total(memory),
            }
            say(f"  {generation} generations: {figures[str(generation)]['all']}")
    return figures


def _total(memory: dict[str, dict[str, float]]) -> dict[str, float]:
    sizes = list(memory.values())
    return {name: rounded(sum(size[name] for size in sizes)) for name in sizes[0]}


def _publish(bench: Bench, index: Path, num_chunks: int, generation: int) -> None:
    origin = load_current(open_store(str(bench.corpus.sample)))
    rows = made_rows(bench.corpus, num_chunks, seed=generation)
    shards = len(load_current(open_store(str(index))).shards)
    publish_rows(rows, index, shards, bench.settings, origin)


def _seconds_until_taken(served: Served, generation: int) -> float:
    started = time.monotonic()
    with Asker(served.port) as asker:
        while asker.call("GET", "/v1/index")["generation"] != generation:
            if time.monotonic() - started > _TAKEN_S:
                message = f"generation {generation} is not served after {_TAKEN_S:.0f} seconds"
                raise RuntimeError(message)
            time.sleep(_PAUSE_S)
    return time.monotonic() - started
