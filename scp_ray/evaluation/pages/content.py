"""What a report shows, apart from how: sections with a table, a plot or both."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from scp_ray.evaluation.intervals import Interval

Cells: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names the row.

    Attributes:
        columns: Their heads.
        rows: As many cells each.
        num_left_out: Rows that are not shown, for length.
        text_columns: Columns beside the first that hold text and not numbers.
    """

    columns: Cells
    rows: tuple[Cells, ...]
    num_left_out: int = 0
    text_columns: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Plot:
    """Shares in [0, 1] with their intervals, one line each."""

    title: str
    lines: tuple[tuple[str, Interval], ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot.

    Attributes:
        name: In the legend.
        points: x, and y with its interval; each x once.
    """

    name: str
    points: tuple[tuple[float, Interval], ...]


@dataclass(frozen=True, slots=True)
class LinePlot:
    """How values change with a setting; the values of x are spaced evenly, in ascending order.

    Attributes:
        title: What is shown.
        x_name: The setting.
        y_name: What was measured.
        lines: At least one point in all; colours repeat after six lines.
        marked_x: The value in force, marked where some line has it.
    """

    title: str
    x_name: str
    y_name: str
    lines: tuple[Line, ...]
    marked_x: float | None = None


@dataclass(frozen=True, slots=True)
class HeatStrips:
    """Where in each of several texts something lies.

    Attributes:
        title: What is shown.
        kinds: Names of the strips of a text, at most two; each has a colour of its own.
        rows: Name of each text, and as many strips as kinds: counts by place, from the text's
            beginning to its end.
    """

    title: str
    kinds: Cells
    rows: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]


AnyPlot: TypeAlias = Plot | LinePlot | HeatStrips


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report.

    Attributes:
        title: Its heading.
        notes: Sentences under it.
        plot: Shown before the table, on pages only.
        table: May be missing.
        is_folded: Whether a page shows only the title until it is opened.
    """

    title: str
    notes: Cells = ()
    plot: AnyPlot | None = None
    table: Table | None = None
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    Attributes:
        title: What it is about.
        subtitle: What was looked at, and how much of it.
        sections: In order.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...] = field(default=())


def shortened(columns: Cells, rows: Sequence[Cells], most: int, *text_columns: int) -> Table | None:
    """Return a table of the first ``most`` rows that says how many it leaves out; None of none."""
    if not rows:
        return None
    left_out = max(0, len(rows) - most)
    return Table(columns, tuple(rows[:most]), left_out, frozenset(text_columns))


def percent(value: Interval | None) -> str:
    """Return a share, such as ``10.1 %``."""
    return "-" if value is None else f"{100 * value.point:.1f} %"


def percent_range(value: Interval | None) -> str:
    """Return the interval of a share, such as ``7.2 to 13.9 %``."""
    return "-" if value is None else f"{100 * value.low:.1f} to {100 * value.high:.1f} %"


def decimal(value: float | None, digits: int = 2) -> str:
    """Return a number; ``-`` for None."""
    return "-" if value is None else f"{value:.{digits}f}"
