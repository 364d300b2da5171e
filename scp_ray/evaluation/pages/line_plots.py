"""Draws lines with their intervals as bands, as inline SVG."""

from collections.abc import Sequence
from typing import Final

from scp_ray.evaluation.pages.axes import COLOURS, Axis, axis_over, drawing, label, level, number
from scp_ray.evaluation.pages.content import Line, LinePlot

_LEFT: Final = 40
_RIGHT: Final = 328
_HEIGHT: Final = 170
_LEGEND: Final = 16
_FOOT: Final = 36
_CHARACTER: Final = 6.2
"""Units that a character of a tick may take."""


class _Field:
    """Where values lie in the drawing: the values of x evenly spaced, y by its axis."""

    def __init__(self, plot: LinePlot) -> None:
        values = [value for line in plot.lines for _, value in line.points]
        self.xs = sorted({x for line in plot.lines for x, _ in line.points})
        self.axis: Axis = axis_over(
            min(value.low for value in values), max(value.high for value in values)
        )
        self.top = 22 + _LEGEND * len(plot.lines)
        self.foot = self.top + _HEIGHT

    def x(self, value: float) -> float:
        share = self.xs.index(value) / max(len(self.xs) - 1, 1) if len(self.xs) > 1 else 0.5
        return round(_LEFT + 8 + share * (_RIGHT - _LEFT - 16), 2)

    def y(self, value: float) -> float:
        return round(self.foot - self.axis.share(value) * _HEIGHT, 2)


def draw_lines(plot: LinePlot) -> str:
    """Return lines over a setting as an ``svg`` element.

    Each value of x has the same room, and the interval of each y is a band around the line. The
    value in force is a dashed line across.
    """
    field = _Field(plot)
    lines = [_line(field, line, place) for place, line in enumerate(plot.lines)]
    return drawing(
        plot.title,
        field.foot + _FOOT,
        f'<text class="name" x="4" y="12">{label(plot.y_name, 52)}</text>',
        *(_legend(line.name, place) for place, line in enumerate(plot.lines)),
        _grid(field),
        _across(field, plot),
        *lines,
    )


def _legend(name: str, place: int) -> str:
    y = 26 + _LEGEND * place
    return (
        f'<circle class="dot c{place % COLOURS}" cx="9" cy="{y - 4}" r="4"/>'
        f'<text class="name" x="19" y="{y}">{label(name, 48)}</text>'
    )


def _grid(field: _Field) -> str:
    return "".join(level(tick, field.y(tick), _LEFT, _RIGHT) for tick in field.axis.ticks)


def _across(field: _Field, plot: LinePlot) -> str:
    """Return the ticks of x, as many as there is room for, its name, and the value in force."""
    longest = max(len(number(x)) for x in field.xs)
    room = (_RIGHT - _LEFT) / len(field.xs)
    every = max(1, -int(-(longest + 1) * _CHARACTER // room))
    ticks = "".join(
        f'<text class="tick" x="{field.x(x)}" y="{field.foot + 15}" text-anchor="middle">'
        f"{number(x)}</text>"
        for x in field.xs[::every]
    )
    marked = ""
    if plot.marked_x in field.xs:
        x = field.x(plot.marked_x)
        marked = f'<line class="marked" x1="{x}" x2="{x}" y1="{field.top}" y2="{field.foot}"/>'
    middle = (_LEFT + _RIGHT) / 2
    name = (
        f'<text class="tick" x="{middle:g}" y="{field.foot + 30}" text-anchor="middle">'
        f"{label(plot.x_name, 48)}</text>"
    )
    return ticks + marked + name


def _line(field: _Field, line: Line, place: int) -> str:
    points = sorted(line.points, key=lambda point: point[0])
    upper = [(field.x(x), field.y(value.high)) for x, value in points]
    lower = [(field.x(x), field.y(value.low)) for x, value in reversed(points)]
    middle = [(field.x(x), field.y(value.point)) for x, value in points]
    colour = f"c{place % COLOURS}"
    dots = "".join(
        f'<circle class="dot {colour}" cx="{at_x}" cy="{at_y}" r="2.5"><title>'
        f"{label(line.name)}: {number(x)}, {value.point:.4f} ({value.low:.4f} to "
        f"{value.high:.4f})</title></circle>"
        for (at_x, at_y), (x, value) in zip(middle, points, strict=True)
    )
    return (
        f'<polygon class="band {colour}" points="{_path([*upper, *lower])}"/>'
        f'<polyline class="line {colour}" points="{_path(middle)}"/>{dots}'
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
