"""What plots share: numbers of an axis, names that fit, and the frame of a drawing."""

import math
from html import escape
from typing import Final, NamedTuple

from scp_ray.evaluation.pages.printable import printable

# Units of a drawing. A phone shows about one a pixel, so that its text can be read there.
WIDTH: Final = 340
COLOURS: Final = 6
"""Colours that lines take in turn: classes ``c0`` to ``c5`` of the page's style."""

_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_TICKS: Final = 6
_MOST_CHARACTERS: Final = 40
_DIGITS: Final = 12
# Means of equal values differ in their last bits, and no two ticks would.
_LEAST_SPAN: Final = 1e-9
_SMALLEST_PLAIN: Final = 1e-5  # below, six decimals show a digit at most


class Axis(NamedTuple):
    """An axis: evenly spaced ticks, the first and the last at its ends."""

    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 at the first tick to 1 at the last."""
        return (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])


def axis_over(low: float, high: float) -> Axis:
    """Return an axis of two to six round ticks that holds both values."""
    if high - low < _LEAST_SPAN:
        margin = abs(low) * 0.05 or 0.5
        low, high = low - margin, high + margin
    wanted = (high - low) / (_MOST_TICKS - 1)
    size = 10.0 ** math.floor(math.log10(wanted))
    for step in (size * one for one in (*_STEPS, 20.0)):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < _MOST_TICKS:
            return Axis(
                tuple(
                    round(place * step, _DIGITS) for place in range(first, max(last, first + 1) + 1)
                )
            )
    return Axis((low, high))


def number(value: float) -> str:
    """Return a number without zeros at its end, such as ``0.02`` or ``1,000``."""
    if 0 < abs(value) < _SMALLEST_PLAIN:
        return f"{value:.3g}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def label(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return a name as text of a drawing, cut where it is too long."""
    return escape(printable(text if len(text) <= most else text[: most - 1] + "…"))


def level(tick: float, y: float, left: int, right: int) -> str:
    """Return a line across at a tick of the axis up, and its number."""
    return (
        f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
        f'<text class="tick" x="{left - 5}" y="{y + 4:g}" text-anchor="end">{number(tick)}</text>'
    )


def drawing(title: str, height: float, *parts: str) -> str:
    """Return an ``svg`` element with a title for those who do not see it."""
    name = escape(printable(title))
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{name}">'
        f"<title>{name}</title>{''.join(parts)}</svg>"
    )
