"""Reports as pages."""

from collections import Counter
from html.parser import HTMLParser

from typing_extensions import override

from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.content import (
    AnyPlot,
    HeatStrips,
    Line,
    LinePlot,
    Plot,
    Report,
    Section,
    Table,
)
from scp_ray.evaluation.pages.page import render_page

ATTACK = (
    "</td></table><script>alert(1)</script><img src=x onerror=alert(1)> \" ' onmouseover=x &amp;"
)


class Reading(HTMLParser):
    """The tags of a page, their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.text = ""
        self.feed(page)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}

    @override
    def handle_data(self, data: str) -> None:
        self.text += data


def _plots(text: str) -> list[AnyPlot]:
    value = Interval(0.5, 0.4, 0.6)
    return [
        Plot(text, ((text, value),)),
        LinePlot(text, text, text, (Line(text, ((1.0, value),)),)),
        HeatStrips(text, (text,), ((text, ((1, 0),)),)),
    ]


def _page(text: str) -> str:
    table = Table((text, text), ((text, text),), 2, frozenset({1}))
    shown = (Section(text, (text,), plot, table) for plot in _plots(text))
    folded = Section(text, (text,), None, table, is_folded=True)
    return render_page(Report(text, text, (*shown, folded)))


def test_text_of_files_never_becomes_html() -> None:
    harmless, attacked = Reading(_page("harmless")), Reading(_page(ATTACK))
    assert Counter(attacked.tags) == Counter(harmless.tags)
    assert attacked.names == harmless.names
    assert attacked.text.count(ATTACK[:36]) == harmless.text.count("harmless")
    num_cut = 7  # names in plots
    assert attacked.text.count(ATTACK) <= harmless.text.count("harmless") - num_cut


def test_folded_sections_show_their_title_until_they_are_opened() -> None:
    tags = Reading(_page("x")).tags
    assert (tags.count("details"), tags.count("summary"), tags.count("section")) == (1, 1, 3)
    assert tags[tags.index("summary") + 1] == "h2"


def test_page_has_no_script_and_asks_for_nothing() -> None:
    page = _page("x")
    reading = Reading(page)
    assert not {"script", "link", "img", "iframe", "object"} & set(reading.tags)
    assert not {"src", "href", "srcset", "style", "onload"} & reading.names
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert "@import" not in page


def test_tables_say_what_they_leave_out() -> None:
    assert "and 2 more" in Reading(_page("x")).text
