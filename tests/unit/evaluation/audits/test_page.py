"""Reports as pages."""

from collections import Counter
from html.parser import HTMLParser

from typing_extensions import override

from scp_ray.evaluation.audits.intervals import Interval
from scp_ray.evaluation.audits.page import render_page
from scp_ray.evaluation.audits.report import Plot, Report, Section, Table

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


def _page(text: str) -> str:
    plot = Plot(text, ((text, Interval(0.5, 0.4, 0.6)),))
    table = Table((text, text), ((text, text),), 2, frozenset({1}))
    return render_page(Report(text, text, (Section(text, (text,), plot, table),)))


def test_text_of_files_never_becomes_html() -> None:
    harmless, attacked = Reading(_page("harmless")), Reading(_page(ATTACK))
    assert Counter(attacked.tags) == Counter(harmless.tags)
    assert attacked.names == harmless.names
    assert (
        attacked.text.count(ATTACK) == harmless.text.count("harmless") - 1
    )  # a plot's name is cut


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
