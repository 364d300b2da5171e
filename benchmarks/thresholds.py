"""Which figures are shown and what they must be, and the results beside them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from benchmarks.figures import RESULTS, ROOT, Result, figure_at, range_at, read_result

THRESHOLDS = ROOT / "benchmarks" / "thresholds.toml"
_WHOLE_FROM = 1000.0


class Threshold(BaseModel):
    """One figure of a result.

    Attributes:
        result: Name of the result file.
        path: Place in its figures, dotted.
        title: What it is.
        unit: Of the figure; empty for a ratio or a count.
        min_value: Least that it may be, or None.
        max_value: Most that it may be, or None.
        goal: What would be better still.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    result: str
    path: str
    title: str
    unit: str = ""
    min_value: float | None = None
    max_value: float | None = None
    goal: float | None = None

    def is_met(self, value: float | None) -> bool:
        """Return whether a figure is there and within the limits."""
        if value is None:
            return False
        is_enough = self.min_value is None or value >= self.min_value
        return is_enough and (self.max_value is None or value <= self.max_value)

    @property
    def requirement(self) -> str:
        """The limits, for people; empty without any."""
        limits = [("at least", self.min_value), ("at most", self.max_value), ("goal", self.goal)]
        return ", ".join(f"{word} {limit:g}" for word, limit in limits if limit is not None)


class _Thresholds(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    figure: list[Threshold]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure as it was measured.

    Attributes:
        threshold: What it must be.
        value: What it is; None if it was not measured.
        between: Least and largest run, or None where it was measured once.
    """

    threshold: Threshold
    value: float | None
    between: tuple[float, float] | None

    @property
    def is_met(self) -> bool:
        """Whether the figure is as it must be."""
        return self.threshold.is_met(self.value)

    @property
    def text(self) -> str:
        """The figure with its range and unit."""
        if self.value is None:
            return "not measured"
        shown = shown_number(self.value)
        if self.between:
            low, high = map(shown_number, self.between)
            shown += f" ({low} to {high})"
        return f"{shown} {self.threshold.unit}".strip()


def shown_number(value: float) -> str:
    """Return a number for people: four digits, or all digits of its whole part."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"


def read_thresholds(path: Path = THRESHOLDS) -> list[Threshold]:
    """Read the file of thresholds, in its order."""
    return _Thresholds(**tomllib.loads(path.read_text(encoding="utf-8"))).figure


def read_results(thresholds: list[Threshold], folder: Path = RESULTS) -> dict[str, Result]:
    """Read the results that the thresholds name, as far as they are there."""
    found = {name: read_result(name, folder) for name in {row.result for row in thresholds}}
    return {name: result for name, result in found.items() if result is not None}


def judge(thresholds: list[Threshold], results: Mapping[str, Result]) -> list[Verdict]:
    """Return a verdict on every threshold, in their order."""
    verdicts: list[Verdict] = []
    for row in thresholds:
        figures = results[row.result].figures if row.result in results else {}
        verdicts.append(Verdict(row, figure_at(figures, row.path), range_at(figures, row.path)))
    return verdicts
