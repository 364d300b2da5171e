"""Draws plots as inline SVG: no script, no font and no picture from elsewhere."""

from typing import Final, assert_never

from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.axes import drawing, label
from scp_ray.evaluation.pages.content import AnyPlot, HeatStrips, LinePlot, Plot
from scp_ray.evaluation.pages.heat_strips import draw_heat_strips
from scp_ray.evaluation.pages.line_plots import draw_lines

_LEFT: Final = 4
_RIGHT: Final = 336
_LINE: Final = 36
_TOP: Final = 6
_AXIS: Final = 22
_BAR: Final = 12
_TICKS: Final = (0, 25, 50, 75, 100)


def draw(plot: AnyPlot) -> str:
    """Return a plot of any kind as an ``svg`` element."""
    match plot:
        case Plot():
            return draw_intervals(plot)
        case LinePlot():
            return draw_lines(plot)
        case HeatStrips():
            return draw_heat_strips(plot)
        case _:
            assert_never(plot)


def draw_intervals(plot: Plot) -> str:
    """Return a bar for each share, from 0 to 100 %, with its interval, as an ``svg`` element."""
    height = _TOP + _LINE * len(plot.lines) + _AXIS
    bars = [_bar(place, name, value) for place, (name, value) in enumerate(plot.lines)]
    return drawing(plot.title, height, _axis(height), *bars)


def _axis(height: int) -> str:
    foot = height - _AXIS
    parts = []
    for tick in _TICKS:
        x = _x(tick / _TICKS[-1])
        anchor = {_TICKS[0]: "start", _TICKS[-1]: "end"}.get(tick, "middle")
        parts.append(
            f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{foot}"/>'
            f'<text class="tick" x="{x}" y="{foot + 15}" text-anchor="{anchor}">{tick} %</text>'
        )
    return "".join(parts)


def _bar(place: int, name: str, value: Interval) -> str:
    top = _TOP + _LINE * place
    middle = top + 16 + _BAR / 2
    low, point, high = _x(value.low), _x(value.point), _x(value.high)
    ends = "".join(
        f'<line class="whisker" x1="{x}" x2="{x}" y1="{middle - 4}" y2="{middle + 4}"/>'
        for x in (low, high)
    )
    return (
        f'<text class="name" x="{_LEFT}" y="{top + 12}">{label(name)}</text>'
        f'<text class="value" x="{_RIGHT}" y="{top + 12}" text-anchor="end">'
        f"{100 * value.point:.1f} %</text>"
        f'<rect class="bar" x="{_LEFT}" y="{top + 16}" width="{round(point - _LEFT, 2)}" '
        f'height="{_BAR}"/>'
        f'<line class="whisker" x1="{low}" x2="{high}" y1="{middle}" y2="{middle}"/>{ends}'
    )


def _x(share: float) -> float:
    return round(_LEFT + share * (_RIGHT - _LEFT), 2)
