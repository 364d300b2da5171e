"""Strips as SVG."""

from xml.etree import ElementTree as ET

import pytest

from scp_ray.evaluation.pages.content import HeatStrips
from scp_ray.evaluation.pages.heat_strips import draw_heat_strips


def _cells(kind: int, *rows: tuple[str, tuple[tuple[int, ...], ...]]) -> list[tuple[float, float]]:
    svg = ET.fromstring(draw_heat_strips(HeatStrips("t", ("evidence", "results"), rows)))  # noqa: S314
    rects = [one for one in svg.iter("rect") if one.attrib["class"] == f"heat k{kind}"][1:]
    return [(float(one.attrib["x"]), float(one.attrib["fill-opacity"])) for one in rects]


ROWS = (("a.md", ((0, 2, 0, 1), (1, 0, 0, 0))), ("b.md", ((4, 0, 0, 0), (0, 0, 0, 0))))


def test_cells_lie_by_place_and_are_shaded_by_the_largest_of_their_kind() -> None:
    assert _cells(0, *ROWS) == [
        (pytest.approx(4 + 83), pytest.approx(0.6)),
        (pytest.approx(4 + 3 * 83), pytest.approx(0.4)),
        (pytest.approx(4), pytest.approx(1.0)),
    ]
    assert _cells(1, *ROWS) == [(pytest.approx(4), pytest.approx(1.0))]


def test_texts_and_kinds_are_named_with_the_largest_count() -> None:
    drawn = draw_heat_strips(HeatStrips("t", ("evidence", "results"), ROWS))
    names = [text.text for text in ET.fromstring(drawn).iter("text")]  # noqa: S314
    assert names == ["evidence, darkest: 4", "results, darkest: 1", "a.md", "b.md"]


def test_texts_with_nothing_are_blank() -> None:
    assert _cells(0, ("a.md", ((0, 0), (0, 0)))) == []
