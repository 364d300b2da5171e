"""The tree of a page as a browser builds it, where end tags were left out.

Python's parser nests ``<li>one<li>two`` and ``<p>one<p>two``, which is common in old manuals; a
thousand such paragraphs would be a tree a thousand deep.
"""

from typing import Any

from bs4 import BeautifulSoup, Tag

_CELLS = frozenset({"td", "th"})
_ROWS = _CELLS | {"tr"}
_ITEMS = frozenset({"dt", "dd"})
_PARAGRAPH = frozenset({"p"})
_BLOCKS = [
    *("address", "article", "aside", "blockquote", "div", "dl", "fieldset", "footer", "form"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol", "p", "pre"),
    *("section", "table", "ul"),
]
# What a start tag ends, when that is the innermost open element (HTML Standard, 13.1.2.4).
_ENDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_BLOCKS, _PARAGRAPH),
    "li": _PARAGRAPH | {"li"},
    "dt": _PARAGRAPH | _ITEMS,
    "dd": _PARAGRAPH | _ITEMS,
    "td": _PARAGRAPH | _CELLS,
    "th": _PARAGRAPH | _CELLS,
    "tr": _PARAGRAPH | _ROWS,
    "tbody": _PARAGRAPH | _ROWS | {"thead", "tbody"},
    "tfoot": _PARAGRAPH | _ROWS | {"thead", "tbody"},
}


class Page(BeautifulSoup):
    """A parsed page in which optional end tags count as written."""

    def handle_starttag(  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        self,
        name: str,
        *args: Any,  # noqa: ANN401 - passed on as they come
        **kwargs: Any,  # noqa: ANN401
    ) -> Tag | None:
        """Open an element, after ending those that it ends."""
        ends = _ENDS.get(name, frozenset())
        while self.currentTag is not None and self.currentTag.name in ends:
            self.handle_endtag(self.currentTag.name)
        return super().handle_starttag(name, *args, **kwargs)
