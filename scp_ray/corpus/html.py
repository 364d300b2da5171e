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
    for element in soup.find_all(_NOT_SHOWN):
        element.decompose()
    for menu in [*soup.find_all("nav"), *soup.find_all(role="navigation")]:
        if not menu.decomposed and _is_menu(menu):
            menu.decompose()
    title = _take_title(soup)
    text = soup_to_markdown(soup)
    return f"# {title}\n\n{text}" if title else text


def _parse(text: str) -> "BeautifulSoup":
    from bs4 import MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning

    from scp_ray.corpus.html_tree import Page

    with warnings.catch_warnings():  # both guess at what the caller meant; it meant HTML
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return Page(text, "html.parser")


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
