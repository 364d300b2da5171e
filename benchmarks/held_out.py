"""Choose weights on one half of the questions of an ablation, and report them on the other half.

Reads what ``scp-ray ablate`` left for ``ablation_study.yaml``. The choice is one setting for all of
the named sets: the most MRR@10 plus evidence recall, summed over the sets, on the first halves. On
the others it is compared with the base of comparison, words without pairs at weight 0.5, k1 1.2.

Writes ``results/held_out.json``.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow.parquet as pq

from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say
from scp_ray.config import load_settings
from scp_ray.evaluation.paired import paired_difference

SEED: Final = 7
STUDY: Final = "Words and pairs"
FUSED: Final = "0.5, 0, 1.2"  # lexical_weight, pair_weight, k1
METRICS: Final = ("hit@1", "mrr@10", "evidence_recall")
_CHOSEN_BY: Final = METRICS[1:]

Values: TypeAlias = dict[str, np.ndarray[Any, np.dtype[np.float64]]]
"""What each question counts, by metric."""


def main() -> None:
    """Choose, compare, and write the figures."""
    args = _parser().parse_args()
    measured = {name: read_cells(args.out, name) for name in args.sets}
    halves = {name: split(num_questions(cells)) for name, cells in measured.items()}
    chosen = choose(measured, halves)
    figures = {
        name: {
            "chosen": rounded_means(cells[chosen], halves[name][1]),
            "fused": rounded_means(cells[FUSED], halves[name][1]),
            "gain": gains(cells[FUSED], cells[chosen], halves[name][1]),
            "chosen_on_all": rounded_means(cells[chosen], range(num_questions(cells))),
        }
        for name, cells in measured.items()
    }
    for name, found in figures.items():
        say(f"{name}, held out: {found['chosen']} against {found['fused']}")
    environment = capture(load_settings(None, []), args.out / "ablation.json")
    path = Result(environment, {"seed": SEED, "chosen": chosen}, figures).write("held_out")
    say(f"wrote {path.name}: {chosen}")


def read_cells(out: Path, set_name: str) -> dict[str, Values]:
    """Return the cells of the study on a set, by what they are called in it."""
    results = json.loads((out / "ablation.json").read_text(encoding="utf-8"))
    [study] = [study for study in results["studies"] if study["name"] == STUDY]
    table = pq.read_table(out / "cells.parquet").to_pandas()
    of_cell = dict(tuple(table[table["set"] == set_name].groupby("cell")))
    return {
        shown: {
            metric: of_cell[key].sort_values("query_id")[metric].to_numpy() for metric in METRICS
        }
        for shown, key in study["cells"][set_name].items()
    }


def num_questions(cells: Mapping[str, Values]) -> int:
    """Return how many questions the cells were measured with."""
    return len(next(iter(cells.values()))[METRICS[0]])


def split(num: int) -> tuple[list[int], list[int]]:
    """Split questions, in the order of their ids, into one half to choose on and one to report."""
    places = np.random.default_rng(SEED).permutation(num).tolist()
    return places[: num // 2], places[num // 2 :]


def choose(
    measured: Mapping[str, Mapping[str, Values]], halves: Mapping[str, tuple[list[int], list[int]]]
) -> str:
    """Return the cell that is best on the first halves of all sets together."""

    def worth(shown: str) -> float:
        return sum(
            float(cells[shown][metric][halves[name][0]].mean())
            for name, cells in measured.items()
            for metric in _CHOSEN_BY
        )

    return max(next(iter(measured.values())), key=worth)


def rounded_means(values: Values, places: Sequence[int]) -> dict[str, float]:
    """Return the mean of each metric over some questions."""
    return {name: rounded(float(column[places].mean())) for name, column in values.items()}


def gains(base: Values, system: Values, places: Sequence[int]) -> dict[str, dict[str, float]]:
    """Return what a system gains over a base on some questions, by metric."""
    return {
        name: {
            key: rounded(value)
            for key, value in asdict(
                paired_difference(base[name][places].tolist(), system[name][places].tolist())
            ).items()
        }
        for name in METRICS
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="results of scp-ray ablate")
    parser.add_argument("--sets", nargs="+", default=["manuals", "passages"], help="sets to use")
    return parser


if __name__ == "__main__":
    main()
