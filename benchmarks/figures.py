"""Figures of a benchmark: how they are summed up, written, and read back."""

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
_DIGITS = 4


def say(text: str = "") -> None:
    """Write a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def rounded(value: float) -> float:
    """Return ``value`` with four significant digits, whole numbers as they are."""
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")


def spread(values: Sequence[float]) -> dict[str, float]:
    """Sum up one figure over its runs: median, least, largest, number of runs."""
    return {
        "median": rounded(statistics.median(values)),
        "min": rounded(min(values)),
        "max": rounded(max(values)),
        "runs": len(values),
    }


def spreads(runs: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Sum up each figure of several runs that have the same figures."""
    return {name: spread([run[name] for run in runs]) for name in runs[0]}


@dataclass(frozen=True, slots=True)
class Result:
    """What one benchmark found.

    Attributes:
        environment: As ``environment.capture`` gives it.
        settings: What the benchmark was run with.
        figures: Numbers, spreads, and groups of them.
    """

    environment: Mapping[str, Any]
    settings: Mapping[str, Any]
    figures: Mapping[str, Any]

    def write(self, name: str, folder: Path = RESULTS) -> Path:
        """Write the result as ``<name>.json`` and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.json"
        tree = {
            "environment": self.environment,
            "settings": self.settings,
            "figures": self.figures,
        }
        path.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")
        return path


def read_result(name: str, folder: Path = RESULTS) -> Result | None:
    """Read a result; None where the benchmark was not run."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    return Result(**json.loads(path.read_text(encoding="utf-8")))


def figure_at(figures: Mapping[str, Any], path: str) -> float | None:
    """Return the figure at a dotted path, the median where it is a spread; None if not there."""
    place: Any = figures
    for name in path.split("."):
        if not isinstance(place, Mapping) or name not in place:
            return None
        place = place[name]
    value = place.get("median") if isinstance(place, Mapping) else place
    return None if value is None else float(value)


def range_at(figures: Mapping[str, Any], path: str) -> tuple[float, float] | None:
    """Return the least and the largest run of a figure that was measured more than once."""
    low, high = figure_at(figures, f"{path}.min"), figure_at(figures, f"{path}.max")
    runs = figure_at(figures, f"{path}.runs")
    if low is None or high is None or runs is None or runs == 1:
        return None
    return low, high
