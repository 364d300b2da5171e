"""Narrow filters: how long an answer takes, and whether it is whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.figures import rounded, say, spread
from benchmarks.serve_asking import Asker, ids_of
from benchmarks.serve_bench import DEFAULT, Bench, Measured, summed_up
from benchmarks.serve_corpus import NUM_RESULTS, SHARES, label_of
from benchmarks.serve_service import service


def measure_filters(bench: Bench) -> dict[str, Any]:
    """Return latency and completeness under filters of each of ``SHARES``.

    ``fewer_than_exist`` counts questions with fewer results than there are chunks that the filter
    lets through, up to ``top_k``, without the gap rule; ``same_as_exact`` is the share of answers
    that hold the chunks of a full scan.
    """
    filters = {"none": DEFAULT} | {
        _share_name(share): {**DEFAULT, "filter": {"cnm.model": label_of(share)}}
        for share in SHARES
    }
    figures: dict[str, Any] = {}
    rounds: list[dict[str, Measured]] = []
    settings = bench.serve_settings(num_groups=1)
    with service(bench.corpus.index, settings) as served, Asker(served.port) as asker:
        num_chunks = asker.call("GET", "/v1/index")["chunks"]
        for share in SHARES:
            name = _share_name(share)
            existing = min(NUM_RESULTS, round(share * num_chunks))
            found = _completeness(asker, bench.corpus.questions, filters[name], existing)
            figures[name] = {"chunks": round(share * num_chunks), **found}
            say(f"{name}: " + ", ".join(f"{k} {v}" for k, v in found.items() if k != "results"))
        for number in range(bench.rounds):
            names = list(filters) if number % 2 == 0 else list(filters)[::-1]
            rounds.append({name: bench.load(name, served.port, 1, filters[name]) for name in names})
    loads = summed_up(rounds)
    return {name: figures.get(name, {}) | loads[name] for name in filters}


def _share_name(share: float) -> str:
    return f"one_in_{round(1 / share)}"


def _completeness(
    asker: Asker, questions: Sequence[str], body: Mapping[str, Any], existing: int
) -> dict[str, Any]:
    counts: list[int] = []
    same: list[bool] = []
    for question in questions:
        asked = {"query": question, **body}
        counts.append(len(asker.ask({**asked, "min_index_gap": 1})["results"]))
        same.append(ids_of(asker.ask(asked)) == ids_of(asker.ask({**asked, "exact": True})))
    return {
        "results": spread(counts),
        "fewer_than_exist": sum(count < existing for count in counts),
        "same_as_exact": rounded(sum(same) / len(same)),
    }
