"""Draws where in texts something lies: a strip a text and kind, darker where there is more."""

from typing import Final

from scp_ray.evaluation.pages.axes import drawing, label
from scp_ray.evaluation.pages.content import HeatStrips

_LEFT: Final = 4
_RIGHT: Final = 336
_NAME: Final = 16
_STRIP: Final = 8
_SPACE: Final = 6
_LEGEND: Final = 18
_FAINTEST: Final = 0.2


def draw_heat_strips(plot: HeatStrips) -> str:
    """Return strips as an ``svg`` element.

    A place with nothing is blank. The others are shaded by their count over the largest of the
    kind in all texts, so that texts can be compared.
    """
    num_kinds = len(plot.kinds)
    largest = [
        max((count for _, strips in plot.rows for count in strips[kind]), default=0)
        for kind in range(num_kinds)
    ]
    row_height = _NAME + num_kinds * (_STRIP + 1) + _SPACE
    top = _LEGEND * num_kinds + _SPACE
    rows = []
    for place, (name, strips) in enumerate(plot.rows):
        y = top + place * row_height
        rows.append(f'<text class="name" x="{_LEFT}" y="{y + 11}">{label(name, 52)}</text>')
        rows += [
            _strip(strip, kind, largest[kind], y + _NAME + kind * (_STRIP + 1))
            for kind, strip in enumerate(strips)
        ]
    legend = [_legend(name, kind, largest[kind]) for kind, name in enumerate(plot.kinds)]
    return drawing(plot.title, top + row_height * len(plot.rows), *legend, *rows)


def _legend(name: str, kind: int, largest: int) -> str:
    y = 12 + _LEGEND * kind
    return (
        f'<rect class="heat k{kind}" x="{_LEFT}" y="{y - 9}" width="12" height="10"/>'
        f'<text class="name" x="{_LEFT + 18}" y="{y}">{label(name)}, darkest: {largest}</text>'
    )


def _strip(counts: tuple[int, ...], kind: int, largest: int, y: int) -> str:
    width = (_RIGHT - _LEFT) / max(len(counts), 1)
    ground = (
        f'<rect class="ground" x="{_LEFT}" y="{y}" width="{_RIGHT - _LEFT}" height="{_STRIP}"/>'
    )
    return ground + "".join(
        f'<rect class="heat k{kind}" x="{round(_LEFT + place * width, 2)}" y="{y}" '
        f'width="{round(width, 2)}" height="{_STRIP}" '
        f'fill-opacity="{_FAINTEST + (1 - _FAINTEST) * count / largest:.2f}"/>'
        for place, count in enumerate(counts)
        if count
    )
