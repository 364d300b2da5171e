"""Publish ten generations, two of them damaged, under a service that 32 clients are asking.

No request may fail, and no reply may mix generations. Tells how much slower questions are in a
swap than outside, and the memory before and after. The encoder is the tests' one: what a swap
costs is not encoding. Writes ``results/bench_swap.json``.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.changing_manuals import make_manuals
from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say
from benchmarks.serve_memory import replica_memory
from benchmarks.serve_service import service
from benchmarks.swapping import Editions, Outcome, swap_under_load
from scp_ray.config import Settings, load_settings

_DAMAGED = (False, False, True, False, False, True, False, False, False, False)
_NEVER_S = 3600.0
_QUESTION_CHARACTERS = 60


def main() -> None:
    """Run the benchmark."""
    args = _arguments()
    fixed = ["embedding.model=hash://64", f"serve.poll_s={_NEVER_S}", "serve.cpus_per_replica=0.2"]
    settings = load_settings(None, [*fixed, *args.set], {})
    with tempfile.TemporaryDirectory() as folder:
        editions = Editions(Path(folder), args.documents, settings)
        editions.publish()
        environment = capture(settings, editions.corpus)
        with service(editions.index, settings) as served:
            before = replica_memory(served.pid)
            outcome = swap_under_load(
                f"http://127.0.0.1:{served.port}",
                editions,
                num_clients=args.clients,
                seconds=args.seconds,
                damaged=_DAMAGED,
                questions=questions(args.documents),
            )
            after = replica_memory(served.pid)
    environment["data"]["name"] = "made/manuals"
    for fault in sorted(set(outcome.faults)):
        say(f"fault: {fault}")
    figures = {**_figures(outcome), "memory_before": before, "memory_after": after}
    path = Result(environment, _settings(settings, args.clients), figures).write("bench_swap")
    say(f"{figures}\nwritten: {path.name}")


def questions(num_documents: int) -> list[str]:
    """Return a question of each manual's own words."""
    return [
        f"{doc_id}: {text[-_QUESTION_CHARACTERS:].strip()}"
        for doc_id, text in make_manuals(num_documents, seed=1).items()
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100, help="documents of the corpus")
    parser.add_argument("--clients", type=int, default=32, help="clients that ask")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the run")
    parser.add_argument(
        "--set", action="append", default=[], metavar="section.key=value", help="a setting"
    )
    return parser.parse_args()


def _figures(outcome: Outcome) -> dict[str, Any]:
    inside, elsewhere = outcome.p99_ms_in_swaps, outcome.p99_ms_in_other_moments
    return {
        "requests": len(outcome.asked),
        "failed": len(outcome.faults),
        "generations": len(outcome.swaps),
        "damaged": sum(swap.is_damaged for swap in outcome.swaps),
        "seconds_of_a_swap": rounded(outcome.mean_swap_s),
        "p99_ms_in_swaps": rounded(inside),
        "p99_ms_in_other_moments": rounded(elsewhere),
        "p99_ms_outside": rounded(outcome.p99_ms_outside),
        "p99_in_swaps_to_other_moments": rounded(inside / elsewhere),
        "p99_in_swaps_to_outside": rounded(inside / outcome.p99_ms_outside),
    }


def _settings(settings: Settings, num_clients: int) -> dict[str, Any]:
    tree = settings.model_dump(mode="json", include={"embedding", "index", "serve"})
    return {"clients": num_clients, **tree}


if __name__ == "__main__":
    main()
