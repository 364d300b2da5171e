"""Draws points with numbers and a legend, as inline SVG."""

from typing import Final

from scp_ray.evaluation.pages.axes import COLOURS, Axis, axis_over, drawing, label, level, number
from scp_ray.evaluation.pages.report import ScatterPlot

_LEFT: Final = 40
_RIGHT: Final = 318
_TOP: Final = 22
_FOOT: Final = 212
_LEGEND: Final = 16


def draw_scatter(plot: ScatterPlot) -> str:
    """Return numbered points as an ``svg`` element; a legend names them."""
    across = axis_over(min(x for _, x, _ in plot.points), max(x for _, x, _ in plot.points))
    up = axis_over(min(y for _, _, y in plot.points), max(y for _, _, y in plot.points))
    points = [
        _point(place, name, _x(across, x), _y(up, y))
        for place, (name, x, y) in enumerate(plot.points)
    ]
    return drawing(
        plot.title,
        _FOOT + 42 + _LEGEND * len(points),
        f'<text class="name" x="4" y="12">{label(plot.y_name, 52)}</text>',
        _axes(across, up),
        f'<text class="tick" x="{(_LEFT + _RIGHT) / 2:g}" y="{_FOOT + 30}" text-anchor="middle">'
        f"{label(plot.x_name, 48)}</text>",
        *points,
    )


def _axes(across: Axis, up: Axis) -> str:
    lines = "".join(level(tick, _y(up, tick), _LEFT, _RIGHT) for tick in up.ticks)
    return lines + "".join(
        f'<text class="tick" x="{_x(across, tick)}" y="{_FOOT + 15}" text-anchor="middle">'
        f"{number(tick)}</text>"
        for tick in across.ticks
    )


def _point(place: int, name: str, x: float, y: float) -> str:
    colour, legend = f"c{place % COLOURS}", _FOOT + 50 + _LEGEND * place
    return (
        f'<circle class="dot {colour}" cx="{x}" cy="{y}" r="4"/>'
        f'<text class="name" x="{x + 6:g}" y="{y + 4:g}">{place + 1}</text>'
        f'<circle class="dot {colour}" cx="9" cy="{legend - 4}" r="4"/>'
        f'<text class="name" x="19" y="{legend}">{place + 1}  {label(name, 46)}</text>'
    )


def _x(axis: Axis, value: float) -> float:
    return round(_LEFT + axis.share(value) * (_RIGHT - _LEFT), 2)


def _y(axis: Axis, value: float) -> float:
    return round(_FOOT - axis.share(value) * (_FOOT - _TOP), 2)
