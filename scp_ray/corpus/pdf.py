"""PDF files to Markdown."""

import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

from scp_ray.corpus.pdf_text import Line, lines_to_markdown
from scp_ray.corpus.reading_order import Box, lines_in_reading_order
from scp_ray.errors import DocumentError, QuarantineReason

if TYPE_CHECKING:
    from pdfplumber.page import Page

_HEAD_BYTES = 1024
_TAIL_BYTES = 64 * 1024  # servers append to files; readers look at the last 1024
_WORD_GAP = 0.15  # of the font size; PDFs without space characters have gaps of 0.25 and more
_MAX_EDGES = 5000  # of one page; a drawing, in which the search for tables would take minutes
_MIN_FILLED_SHARE = 0.25  # of the cells of a table; the grid of a chart has fewer
_MIDDLE = 0.5  # of the page: turned text is no running header
_GLYPH_NUMBER = re.compile(r"\(cid:\d+\)")
_UNKNOWN = "\ufffd"
_MAX_UNKNOWN_SHARE = 0.2


def parse_pdf(data: bytes) -> str:
    """Return the text of a PDF as Markdown, in reading order, ruled tables as pipe tables.

    Raises:
        DocumentError: BROKEN if it is not a whole PDF, ENCRYPTED if it needs a password, EMPTY if
            its pages have no text.
        Exception: Whatever pdfplumber raises on a broken file.
    """
    if b"%PDF-" not in data[:_HEAD_BYTES]:
        raise DocumentError(QuarantineReason.BROKEN, "not a PDF file")
    if b"%%EOF" not in data[-_TAIL_BYTES:]:
        raise DocumentError(QuarantineReason.BROKEN, "a PDF file that is cut off")
    with _silenced("pdfminer"), _silenced("pdfplumber"):
        lines = list(_read_lines(data))
    if not lines:
        detail = "its pages have no text; if it is a scan, run it through OCR first"
        raise DocumentError(QuarantineReason.EMPTY, detail)
    text = lines_to_markdown(lines)
    if text.count(_UNKNOWN) > _MAX_UNKNOWN_SHARE * len(text):
        detail = "its fonts do not say which characters they show; run it through OCR"
        raise DocumentError(QuarantineReason.BROKEN, detail)
    return text


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    """Keep a library from logging each flaw of a broken file; what matters is raised."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _read_lines(data: bytes) -> Iterator[Line]:
    import pdfplumber
    from pdfminer.pdfdocument import PDFEncryptionError
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(BytesIO(data)) as document:
            for page in document.pages:
                yield from _page_lines(page)
                page.close()
    except PdfminerException as error:
        if error.args and isinstance(error.args[0], PDFEncryptionError):
            detail = "needs a password; save a copy without one"
            raise DocumentError(QuarantineReason.ENCRYPTED, detail) from error
        raise


def _page_lines(page: "Page") -> Iterator[Line]:
    tables, cells = _tables(page)
    upright = [*tables]
    rising: list[dict[str, Any]] = []
    falling: list[dict[str, Any]] = []
    for word in page.extract_words(x_tolerance_ratio=_WORD_GAP, return_chars=True):
        if not word["upright"]:
            (rising if word["chars"][0]["matrix"][1] > 0 else falling).append(word)
        elif not any(_holds(cell, word) for cell in cells):
            upright.append(_box(word))
    for boxes in lines_in_reading_order(upright):
        yield _line(boxes, page)
    for turned in (
        [_rising_box(word) for word in rising],
        [_falling_box(word) for word in falling],
    ):
        for boxes in lines_in_reading_order(turned):
            yield replace(_line(boxes, page), place=_MIDDLE)


def _tables(page: "Page") -> tuple[list[Box], list[tuple[float, float, float, float]]]:
    """Return the ruled tables of a page, and all their cells."""
    if len(page.edges) > _MAX_EDGES:
        return [], []
    boxes = []
    cells = []
    for table in page.find_tables():
        rows = table.extract(x_tolerance_ratio=_WORD_GAP)
        markdown = _pipe_table([[_cell_text(cell) for cell in row] for row in rows])
        if markdown:
            x0, top, x1, bottom = table.bbox
            boxes.append(Box(x0, x1, top, bottom, markdown, 0.0, is_table=True))
            cells.extend(table.cells)
    return boxes, cells


def _cell_text(cell: str | None) -> str:
    return " ".join(_known(cell or "").split()).replace("|", "\\|")


def _known(text: str) -> str:
    """Mark characters that have a number in the font, but no meaning, as unknown."""
    return _GLYPH_NUMBER.sub(_UNKNOWN, text)


def _pipe_table(rows: list[list[str]]) -> str | None:
    """Write rows as Markdown, the first as the head; None if they are hardly a table."""
    cells = [cell for row in rows for cell in row]
    rows = [row for row in rows if any(row)]
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    is_grid = len(rows) > 1 and len(columns) > 1
    if not is_grid or sum(map(bool, cells)) < _MIN_FILLED_SHARE * len(cells):
        return None
    head, *body = ("| " + " | ".join(row) + " |" for row in zip(*columns, strict=True))
    return "\n".join([head, "|" + " --- |" * len(columns), *body])


def _holds(cell: tuple[float, float, float, float], word: dict[str, Any]) -> bool:
    x = (word["x0"] + word["x1"]) / 2
    y = (word["top"] + word["bottom"]) / 2
    return bool(cell[0] <= x <= cell[2] and cell[1] <= y <= cell[3])


def _box(word: dict[str, Any]) -> Box:
    sizes = Counter(round(char["size"], 1) for char in word["chars"])
    size = sizes.most_common(1)[0][0]
    return Box(word["x0"], word["x1"], word["top"], word["bottom"], _known(word["text"]), size)


def _rising_box(word: dict[str, Any]) -> Box:
    """Turn a word that is read from bottom to top."""
    text = "".join(char["text"] for char in reversed(word["chars"]))
    x0, x1 = -word["bottom"], -word["top"]
    return Box(x0, x1, word["x0"], word["x1"], _known(text), word["width"])


def _falling_box(word: dict[str, Any]) -> Box:
    """Turn a word that is read from top to bottom."""
    top, bottom = -word["x1"], -word["x0"]
    return Box(word["top"], word["bottom"], top, bottom, _known(word["text"]), word["width"])


def _line(boxes: list[Box], page: "Page") -> Line:
    if boxes[0].is_table:
        text, size = boxes[0].text, 1.0
    else:
        text = " ".join(box.text for box in boxes)
        weights: Counter[float] = Counter()
        for box in boxes:
            weights[box.size] += len(box.text)
        size = max(weights.most_common(1)[0][0], 1.0)
    top = min(box.top for box in boxes)
    middle = (top + max(box.bottom for box in boxes)) / 2
    place = middle / page.height
    return Line(text, page.page_number, top, place, size, boxes[0].is_table)
