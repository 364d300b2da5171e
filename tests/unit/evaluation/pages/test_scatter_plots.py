"""Points as SVG."""

from xml.etree import ElementTree as ET

from scp_ray.evaluation.pages.report import ScatterPlot
from scp_ray.evaluation.pages.scatter_plots import draw_scatter


def _draw(*points: tuple[str, float, float]) -> ET.Element:
    return ET.fromstring(draw_scatter(ScatterPlot("t", "tokens", "recall", points)))  # noqa: S314


def test_points_lie_by_their_values_and_are_named() -> None:
    svg = _draw(("<a>", 250, 0.2), ("b", 1000, 0.8), ("c", 625, 0.5))
    dots = list(svg.iter("circle"))[::2]  # the others are of the legend
    (ax, ay), (bx, by), (cx, cy) = ((float(d.attrib["cx"]), float(d.attrib["cy"])) for d in dots)
    assert ax < cx < bx
    assert ay > cy > by
    assert abs(cx - (ax + bx) / 2) < 0.1
    assert abs(cy - (ay + by) / 2) < 0.1
    names = [text.text for text in svg.iter("text") if text.attrib["class"] == "name"]
    assert names == ["recall", "1", "1  <a>", "2", "2  b", "3", "3  c"]


def test_everything_lies_within_the_drawing() -> None:
    svg = _draw(*((str(n), n % 3, n % 4) for n in range(12)))
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    for element in svg.iter():
        assert all(0 <= float(element.attrib.get(name, 0)) <= width for name in ("x", "x1", "cx"))
        assert all(0 <= float(element.attrib.get(name, 0)) <= height for name in ("y", "y1", "cy"))


def test_equal_points_are_drawn() -> None:
    assert len(list(_draw(("a", 1, 1), ("b", 1, 1)).iter("circle"))) == 4
