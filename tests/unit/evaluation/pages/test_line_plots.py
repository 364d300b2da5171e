"""Lines as SVG."""

from xml.etree import ElementTree as ET

import pytest

from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.content import Line, LinePlot
from scp_ray.evaluation.pages.line_plots import draw_lines


def _points(*values: tuple[float, float]) -> tuple[tuple[float, Interval], ...]:
    return tuple((x, Interval(y, y - 0.1, y + 0.1)) for x, y in values)


def _draw(*lines: Line, marked_x: float | None = None) -> ET.Element:
    plot = LinePlot("A <plot>", "weight & w", "hit@1", lines, marked_x)
    return ET.fromstring(draw_lines(plot))  # noqa: S314


def _path(element: ET.Element) -> list[tuple[float, float]]:
    pairs = (point.split(",") for point in element.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def test_points_are_evenly_spaced_and_higher_is_more() -> None:
    svg = _draw(Line("one", _points((1000, 0.2), (250, 0.1), (4000, 0.9))))
    (line,) = svg.iter("polyline")
    xs, ys = zip(*_path(line), strict=True)
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.02)
    assert ys[0] > ys[1] > ys[2]
    # 0.1 of y is an eighth of the way from 0.1 to 0.9.
    assert (ys[0] - ys[1]) / (ys[0] - ys[2]) == pytest.approx(1 / 8, abs=0.01)
    ticks = [text.text for text in svg.iter("text") if text.attrib.get("text-anchor") == "middle"]
    assert ticks == ["250", "1,000", "4,000", "weight & w"]


def test_bands_go_from_the_low_to_the_high_end() -> None:
    svg = _draw(Line("one", _points((0, 0.5), (1, 0.5))))
    (band,), (line,) = svg.iter("polygon"), svg.iter("polyline")
    upper, lower = _path(band)[:2], _path(band)[2:]
    middle = _path(line)[0][1]
    assert upper[0][1] == upper[1][1] == pytest.approx(2 * middle - lower[0][1], abs=0.02)
    assert upper[0][0] == lower[-1][0]


def test_value_in_force_is_marked_where_it_was_asked() -> None:
    line = Line("one", _points((0, 0.5), (0.5, 0.6)))
    marked = [
        [one for one in _draw(line, marked_x=x).iter("line") if one.attrib["class"] == "marked"]
        for x in (0.5, 0.4, None)
    ]
    assert [len(one) for one in marked] == [1, 0, 0]
    (polyline,) = _draw(line).iter("polyline")
    assert float(marked[0][0].attrib["x1"]) == _path(polyline)[1][0]


def test_lines_have_colours_and_a_legend() -> None:
    lines = [Line(f"line {place}", _points((place, 0.5))) for place in range(8)]
    svg = _draw(*lines)
    assert [one.attrib["class"] for one in svg.iter("polyline")][5:] == [
        "line c5",
        "line c0",
        "line c1",
    ]
    names = [text.text for text in svg.iter("text") if text.attrib["class"] == "name"]
    assert names == ["hit@1", *(line.name for line in lines)]


def test_everything_lies_within_the_drawing() -> None:
    svg = _draw(*(Line(str(n), _points((0.1 * n, n / 9), (1, 0))) for n in range(9)))
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    for element in svg.iter():
        assert all(0 <= float(element.attrib.get(name, 0)) <= width for name in ("x", "x1", "cx"))
        assert all(0 <= float(element.attrib.get(name, 0)) <= height for name in ("y", "y1", "cy"))
    drawn = [
        point for kind in ("polygon", "polyline") for one in svg.iter(kind) for point in _path(one)
    ]
    assert all(0 <= x <= width and 0 <= y <= height for x, y in drawn)


def test_a_single_point_is_drawn() -> None:
    (dot,) = [
        c for c in _draw(Line("one", _points((3, 0.5)))).iter("circle") if c.attrib["r"] == "2.5"
    ]
    assert float(dot.attrib["cx"]) == pytest.approx(184)
