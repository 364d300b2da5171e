"""Plots as SVG."""

from xml.etree import ElementTree as ET

import pytest

from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.content import AnyPlot, HeatStrips, Line, LinePlot, Plot
from scp_ray.evaluation.pages.plots import draw, draw_intervals


def _draw(*lines: tuple[str, Interval]) -> ET.Element:
    return ET.fromstring(draw_intervals(Plot('Pass "rate" <of> all', lines)))  # noqa: S314


def test_bars_are_as_long_as_their_shares() -> None:
    svg = _draw(
        ("a", Interval(0.5, 0.4, 0.7)), ("b", Interval(0.25, 0.2, 0.3)), ("c", Interval(0, 0, 1))
    )
    lengths = [float(bar.attrib["width"]) for bar in svg.iter("rect")]
    assert lengths == [pytest.approx(166), pytest.approx(83), 0]
    whole = [line for line in svg.iter("line") if line.attrib["class"] == "whisker"]
    ends = [(float(line.attrib["x1"]), float(line.attrib["x2"])) for line in whole[::3]]
    assert ends[0] == (pytest.approx(4 + 0.4 * 332), pytest.approx(4 + 0.7 * 332))
    assert ends[2] == (4, 336)


def test_everything_lies_within_the_drawing() -> None:
    svg = _draw(*[(f"line {number}", Interval(1, 1, 1)) for number in range(7)])
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    for element in svg.iter():
        assert 0 <= float(element.attrib.get("y", 0)) <= height
        assert all(0 <= float(element.attrib.get(name, 0)) <= width for name in ("x", "x1", "x2"))


def test_names_are_text() -> None:
    name = "<script>alert(1)</script>" + "x" * 50
    svg = _draw((name, Interval(0.5, 0.4, 0.6)))
    (shown,) = [text.text for text in svg.iter("text") if text.attrib["class"] == "name"]
    assert shown == name[:39] + "…"
    assert svg.attrib["aria-label"] == 'Pass "rate" <of> all'
    assert not list(svg.iter("script"))


@pytest.mark.parametrize(
    ("plot", "mark"),
    [
        (Plot("t", (("a", Interval(0.5, 0.4, 0.6)),)), "bar"),
        (LinePlot("t", "x", "y", (Line("a", ((1.0, Interval(0.5, 0.4, 0.6)),)),)), "line c0"),
        (HeatStrips("t", ("a",), (("b", ((1, 0),)),)), "ground"),
    ],
)
def test_each_kind_is_drawn_as_what_it_is(plot: AnyPlot, mark: str) -> None:
    marks = {element.attrib.get("class") for element in ET.fromstring(draw(plot)).iter()}  # noqa: S314
    assert mark in marks


def test_what_is_no_plot_is_not_drawn_as_one() -> None:
    with pytest.raises(AssertionError, match="unreachable"):
        draw("words")  # type: ignore[arg-type]
