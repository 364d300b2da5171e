"""The floor under a service: the bare encoder and two bare searches, asked by threads.

In a process of its own, with as many threads as there would be clients and no HTTP.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.figures import ROOT
from benchmarks.query_floor import QueryFloor
from benchmarks.serve_load import LoadReport, LoadSpec
from benchmarks.shard_rows import shard_folders
from scp_ray.config import Settings, settings_from_tree
from scp_ray.embedding.model_folder import find_model_folder
from scp_ray.embedding.model_loading import load_model

_STRIDE = 7


def floor_in_process(
    index: Path, settings: Settings, specs: Sequence[LoadSpec]
) -> list[LoadReport]:
    """Run each of some loads against the floor; their ports do not matter.

    Args:
        index: Folder of an index.
        settings: Of encoder and searches.
        specs: The loads, one after another.
    """
    done = subprocess.run(  # noqa: S603 - arguments are this file's own
        [sys.executable, "-m", "benchmarks.serve_floor", index, settings.model_dump_json()],
        input=json.dumps([asdict(spec) for spec in specs]),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if done.returncode != 0:
        message = f"the floor failed: {done.stderr[-2000:]}"
        raise RuntimeError(message)
    return [LoadReport(**report) for report in json.loads(done.stdout)]


def main() -> None:
    """Open the index, run the loads of standard input, and write what was seen."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("settings", help="settings tree as JSON")
    args = parser.parse_args()
    settings = settings_from_tree(json.loads(args.settings))
    torch.set_num_threads(encoder_threads(settings))
    model = load_model(find_model_folder(settings.embedding.model), settings.embedding)
    floor = QueryFloor(model, shard_folders(args.index), settings.index, settings.retrieval)
    specs = [LoadSpec(**spec) for spec in json.load(sys.stdin)]
    sys.stdout.write(json.dumps([asdict(_offered(floor, spec)) for spec in specs]))


def encoder_threads(settings: Settings) -> int:
    """Return the threads of the service's query encoder."""
    return settings.embedding.num_threads or 1


def _offered(floor: QueryFloor, spec: LoadSpec) -> LoadReport:
    questions = [json.loads(body)["query"] for body in spec.bodies]
    began = time.perf_counter()
    since, until = began + spec.warm_s, began + spec.warm_s + spec.duration_s
    latencies_ms: list[float] = []

    def ask(first: int) -> None:
        number = first
        while time.perf_counter() < until:
            started = time.perf_counter()
            floor.search(floor.encode(questions[number % len(questions)]))
            ended = time.perf_counter()
            if since <= ended < until:
                latencies_ms.append(1000.0 * (ended - started))
            number += 1

    threads = [
        threading.Thread(target=ask, args=(client * _STRIDE,)) for client in range(spec.num_clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return LoadReport(latencies_ms, {}, len(latencies_ms) / spec.duration_s, 0.0, 0.0)


if __name__ == "__main__":
    main()
