"""HTML files to Markdown."""

import re
import warnings
from typing import TYPE_CHECKING

from scp_ray.corpus.decode import decode_text
from scp_ray.corpus.markdown import soup_to_markdown

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_DECLARATION = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_DECLARATION_BYTES = 4096  # browsers look for it in the first 1024
_NOT_SHOWN = ["script", "style", "template"]
# Elements whose end tag may be left out: what opens inside of them ends them (HTML, 13.1.2.4).
_CELLS = frozenset({"td", "th"})
_ROWS = _CELLS | {"tr"}
_ENDS = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _ROWS,
    "tbody": _ROWS | {"thead", "tbody"},
    "tfoot": _ROWS | {"thead", "tbody"},
}
_MIN_LINK_SHARE = 0.5  # of the characters of a menu


def parse_html(data: bytes) -> str:
    """Return the content of a page as Markdown, its title first.

    Scripts, styles and menus are left out. An element only counts as a menu when most of its text
    is links, so that an unclosed ``<nav>`` does not take the page with it.

    Raises:
        DocumentError: If the bytes cannot be decoded, or are empty.
    """
    declaration = _DECLARATION.search(data[:_DECLARATION_BYTES])
    soup = _parse(decode_text(data, declaration[1].decode("ascii") if declaration else None))
    _end_open_elements(soup)
    for element in soup.find_all(_NOT_SHOWN):
        element.decompose()
    for menu in [*soup.find_all("nav"), *soup.find_all(role="navigation")]:
        if not menu.decomposed and _is_menu(menu):
            menu.decompose()
    title = _take_title(soup)
    text = soup_to_markdown(soup)
    return f"# {title}\n\n{text}" if title else text


def _parse(text: str) -> "BeautifulSoup":
    from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning

    with warnings.catch_warnings():  # both guess at what the caller meant; it meant HTML
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return BeautifulSoup(text, "html.parser")


def _end_open_elements(soup: "BeautifulSoup") -> None:
    """Lift what the parser nested because the end tag before it was left out, as is allowed."""
    for element in soup.find_all(list(_ENDS)):
        while element.parent is not None and element.parent.name in _ENDS[element.name]:
            rest = [element, *element.next_siblings]
            element.parent.insert_after(*rest)


def _is_menu(element: "Tag") -> bool:
    num_linked = sum(len(link.get_text(strip=True)) for link in element.find_all("a"))
    return num_linked > _MIN_LINK_SHARE * len(element.get_text(strip=True))


def _take_title(soup: "BeautifulSoup") -> str:
    """Remove the title and return it, unless a first-level heading says the same."""
    if soup.title is None:
        return ""
    title = " ".join(soup.title.extract().get_text().split())
    headings = (" ".join(heading.get_text().split()) for heading in soup.find_all("h1"))
    return "" if title in headings else title
