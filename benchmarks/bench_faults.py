"""How late is the answer when a shard group is stopped, or killed? Measured from the client.

A service of three groups, one client, a deadline of half a second. Writes
``results/bench_faults.json``.
"""

import argparse
import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from benchmarks.bench_swap import questions
from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say, spread
from benchmarks.serve_memory import replica_pids
from benchmarks.serve_service import service
from benchmarks.swapping import Editions
from scp_ray.config import load_settings

_NUM_GROUPS = 3
_DEADLINE_MS = 500
_VICTIM = "group-1"
_BACK_S = 120.0
_PAUSE_S = 0.1
_OK = 200


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100, help="documents of the corpus")
    parser.add_argument("--requests", type=int, default=50, help="requests under each fault")
    args = parser.parse_args()
    fixed = [f"serve.num_groups={_NUM_GROUPS}", "serve.cpus_per_replica=0.2"]
    settings = load_settings(None, ["embedding.model=hash://64", *fixed], {})
    with tempfile.TemporaryDirectory() as folder:
        editions = Editions(Path(folder), args.documents, settings)
        editions.publish()
        environment = capture(settings, editions.corpus)
        asked = questions(args.documents)[: args.requests]
        with (
            service(editions.index, settings) as served,
            httpx.Client(base_url=f"http://127.0.0.1:{served.port}", timeout=30) as client,
        ):
            figures = {"healthy": _asked(client, asked)}
            (victim,) = replica_pids(served.pid)[_VICTIM]
            os.kill(victim, signal.SIGSTOP)
            figures["stopped"] = _asked(client, asked)
            os.kill(victim, signal.SIGCONT)
            figures["stopped"]["back_after_s"] = _until_whole(client)
            os.kill(victim, signal.SIGKILL)
            figures["killed"] = _asked(client, asked[:1])
            figures["killed"]["back_after_s"] = _until_whole(client)
    environment["data"]["name"] = "made/manuals"
    tree = settings.model_dump(mode="json", include={"embedding", "index", "serve"})
    path = Result(environment, {"deadline_ms": _DEADLINE_MS, **tree}, figures).write("bench_faults")
    say(f"{figures}\nwritten: {path.name}")


def _asked(client: httpx.Client, asked: list[str]) -> dict[str, Any]:
    """Ask with a deadline, each question also strictly; return how late the answers were."""
    late_ms, shards = [], Counter[str]()
    strict = Counter[str]()
    for question in asked:
        body = {"query": question, "deadline_ms": _DEADLINE_MS}
        sent = time.perf_counter()
        response = client.post("/v1/query", json=body).raise_for_status()
        late_ms.append(max(0.0, 1000 * (time.perf_counter() - sent) - _DEADLINE_MS))
        shards[str(response.json()["coverage"]["shards_ok"])] += 1
        strict[str(client.post("/v1/query", json={**body, "strict": True}).status_code)] += 1
    return {
        "requests": len(asked),
        "ms_after_deadline": spread(late_ms),
        "shards_that_answered": dict(shards),
        "status_of_strict": dict(strict),
    }


def _until_whole(client: httpx.Client) -> float:
    began, answer = time.perf_counter(), ""
    while time.perf_counter() < began + _BACK_S:
        response = client.post("/v1/query", json={"query": "lamp", "strict": True})
        answer = response.text
        if response.status_code == _OK:
            return rounded(time.perf_counter() - began)
        time.sleep(_PAUSE_S)
    message = f"the service is not whole after {_BACK_S:.0f} seconds: {answer}"
    raise RuntimeError(message)


if __name__ == "__main__":
    main()
