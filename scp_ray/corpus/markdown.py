"""HTML trees to Markdown: what HTML and DOCX files have in common.

Headings become ``#`` lines and tables pipe tables. Merged cells are written out, so that each row
says all that it means. Text is not escaped, so that ``X_200`` stays a name that can be searched
for. Targets of links stay where they lead out of the document.
"""

import copy
import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

    _Reaching: TypeAlias = dict[int, tuple[int, Tag]]  # by column: rows still to go, the cell

_LINE_TAIL = re.compile(r"[ \t]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")
_CELLS = ["td", "th"]
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
_OUTSIDE_LINKS = ("http://", "https://", "mailto:", "tel:")
_MAX_REPEATED_CHARACTERS = 1_000_000  # of one table; a forged rowspan must not blow up a document
_MAX_SPAN_DIGITS = 5


def soup_to_markdown(soup: "BeautifulSoup") -> str:
    """Convert a parsed page, which is changed on the way.

    Returns:
        Markdown with one blank line between blocks, and no white space at the end of a line.

    Source: conversion of blocks by markdownify; links, images and tables are our choice.
    """
    from markdownify import MarkdownConverter

    _drop_markup(soup)
    _keep_link_texts(soup)
    for image in soup.find_all("img"):
        image.replace_with(str(image.get("alt") or ""))
    for table in soup.find_all("table"):
        if _is_layout(table):
            _flatten(table)
        else:
            _write_out(table)
    converter = MarkdownConverter(
        heading_style="atx",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        table_infer_header=True,
        wrap=True,
        wrap_width=None,
    )
    text = _LINE_TAIL.sub("", str(converter.convert_soup(soup)))
    return _BLANK_LINES.sub("\n\n", text).strip()


def _drop_markup(soup: "BeautifulSoup") -> None:
    """Remove declarations and processing instructions, which would be written out as text."""
    from bs4.element import CData, PreformattedString

    for string in soup.find_all(string=True):
        if isinstance(string, PreformattedString) and not isinstance(string, CData):
            string.extract()


def _keep_link_texts(soup: "BeautifulSoup") -> None:
    for link in soup.find_all("a"):
        target = str(link.get("href") or "")
        is_mark = target.startswith("#") and not any(map(str.isalnum, link.get_text()))
        if is_mark:  # a paragraph sign beside a heading, an arrow back from a note
            link.decompose()
        elif not target.startswith(_OUTSIDE_LINKS):
            link.unwrap()


def _is_layout(table: "Tag") -> bool:
    """Whether a table only places things on the page."""
    if table.get("role") == "presentation" or len(table.find_all(_CELLS, limit=2)) < 2:  # noqa: PLR2004
        return True
    return table.find(["table", *_HEADINGS]) is not None


def _own_rows(table: "Tag") -> "list[Tag]":
    return [row for row in table.find_all("tr") if row.find_parent("table") is table]


def _own_cells(row: "Tag") -> "list[Tag]":
    return [cell for cell in row.find_all(_CELLS) if cell.find_parent("tr") is row]


def _flatten(table: "Tag") -> None:
    for row in _own_rows(table):
        for part in (*_own_cells(row), row):
            part.name = "div"
    table.name = "div"


def _write_out(table: "Tag") -> None:
    """Repeat what spans several rows in each of them, and keep ``|`` out of the way."""
    reaching: _Reaching = {}
    budget = _MAX_REPEATED_CHARACTERS
    for row in _own_rows(table):
        cells = _own_cells(row)
        for string in [string for cell in cells for string in cell.find_all(string=True)]:
            string.replace_with(str(string).replace("|", "\\|"))
        budget -= sum(1 + len(cell.get_text()) for _, cell in reaching.values())
        reaching = _fill_row(row, cells, reaching) if budget >= 0 else {}


def _fill_row(row: "Tag", cells: "list[Tag]", reaching: "_Reaching") -> "_Reaching":
    """Insert the cells that reach into this row; return those that reach into the next."""
    below = {}
    column = 0
    for cell in (*cells, None):
        while column in reaching or (cell is None and reaching):
            column = column if column in reaching else min(reaching)
            rows_left, spanning = reaching.pop(column)
            repeated = copy.copy(spanning)
            if cell is None:
                row.append(repeated)
            else:
                cell.insert_before(repeated)
            if rows_left > 1:
                below[column] = (rows_left - 1, spanning)
            column += _span(spanning, "colspan")
        if cell is not None:
            if _span(cell, "rowspan") > 1:
                below[column] = (_span(cell, "rowspan") - 1, cell)
            column += _span(cell, "colspan")
    return below


def _span(cell: "Tag", attribute: str) -> int:
    value = str(cell.get(attribute) or "1")
    return max(1, int(value)) if value.isdecimal() and len(value) <= _MAX_SPAN_DIGITS else 1
