"""The service's figures over the number of its shard groups."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.figures import say
from benchmarks.serve_bench import DEFAULT, Bench, Measured, summed_up
from benchmarks.serve_corpus import NUM_SHARDS
from benchmarks.serve_service import service

GROUPS = (1, 2, 4, 8, 16, 32)
_LOADS: Mapping[str, tuple[Mapping[str, Any], Sequence[int]]] = {
    "global_prior": (DEFAULT, (1, 8)),
    "shard_prior": ({**DEFAULT, "prior_scope": "shard"}, (1,)),
}
_MOST_ROUNDS = 3  # most of the time goes into starting replicas
_CPUS_OF_SMALL = 0.05  # so that all of them fit on a small machine


def measure_groups(bench: Bench) -> dict[str, Any]:
    """Return the figures of the same chunks in a growing number of groups, by turns.

    ``shard_prior`` asks with ``prior_scope: shard``, which needs one round trip in place of two.
    """
    rounds: list[dict[str, Any]] = []
    for number in range(min(bench.rounds, _MOST_ROUNDS)):
        say(f"round {number + 1}")
        order = GROUPS if number % 2 == 0 else GROUPS[::-1]
        rounds.append({str(num_groups): _of_groups(bench, num_groups) for num_groups in order})
    return {"num_shards": NUM_SHARDS, **summed_up(rounds)}


def _of_groups(bench: Bench, num_groups: int) -> dict[str, dict[str, Measured]]:
    settings = bench.serve_settings(num_groups=num_groups, cpus_per_replica=_CPUS_OF_SMALL)
    with service(bench.corpus.sharded_index, settings) as served:
        return {
            name: {
                str(n): bench.load(f"{num_groups} groups, {name}", served.port, n, body)
                for n in clients
            }
            for name, (body, clients) in _LOADS.items()
        }
