"""In which order the words of a printed page are read.

Columns are found by recursive cuts: down a gutter where the page has one, else across the widest
blank strip. Pure geometry in points, y growing downwards.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_MIN_COLUMN_LINES = 8  # of each column; shorter ones are more likely cells of a table
_MIN_COLUMN_WORDS = 3.0  # mean words of a line; fewer are labels beside values
_MIN_REGION_BOXES = int(2 * _MIN_COLUMN_LINES * _MIN_COLUMN_WORDS)
_MIN_GUTTER_HEIGHTS = 0.8  # widths of a gutter in line heights; a word space has 0.3
_SAME_LINE_OVERLAP = 0.5  # of the lower of two boxes; a raised index still belongs to its line


@dataclass(frozen=True, slots=True)
class Box:
    """A word, or a table that is read as one.

    Attributes:
        x0, x1, top, bottom: Edges in points.
        text: The word; Markdown where ``is_table``.
        size: Font size in points.
        is_table: Whether it stands apart from the lines.
    """

    x0: float
    x1: float
    top: float
    bottom: float
    text: str
    size: float
    is_table: bool = False


def lines_in_reading_order(boxes: Sequence[Box]) -> list[list[Box]]:
    """Group boxes into lines, from left to right, in the order in which a page is read.

    A table is a line of its own. Two columns are read one after the other only where both are
    prose: at least 8 lines with 3 words in the mean. What looks like cells is read row by row.
    """
    if not boxes:
        return []
    gutter = median(box.bottom - box.top for box in boxes) * _MIN_GUTTER_HEIGHTS
    return [line for region in _regions(list(boxes), gutter) for line in _lines(region)]


def _regions(boxes: list[Box], gutter: float) -> Iterator[list[Box]]:
    """Yield groups of boxes that hold one column each, in reading order."""
    pending = [boxes]
    while pending:
        region = pending.pop()
        columns = _cut_down(region, gutter) if len(region) >= _MIN_REGION_BOXES else None
        parts = columns or _cut_across(region)
        if parts is None:
            yield region
        else:
            pending.extend(reversed(parts))


def _cut_down(region: list[Box], gutter: float) -> tuple[list[Box], list[Box]] | None:
    """Cut at the widest gutter that has prose on both sides."""
    spans = _merge(sorted((box.x0, box.x1) for box in region))
    gaps = [(right[0] - left[1], right[0]) for left, right in pairwise(spans)]
    for _, edge in sorted((gap for gap in gaps if gap[0] >= gutter), reverse=True):
        left = [box for box in region if box.x0 < edge]
        right = [box for box in region if box.x0 >= edge]
        if _is_prose(left) and _is_prose(right):
            return left, right
    return None


def _is_prose(column: list[Box]) -> bool:
    num_lines = len(_merge(sorted((box.top, box.bottom) for box in column)))
    num_words = sum(len(box.text.split()) for box in column)
    return num_lines >= _MIN_COLUMN_LINES and num_words >= num_lines * _MIN_COLUMN_WORDS


def _cut_across(region: list[Box]) -> tuple[list[Box], list[Box]] | None:
    """Cut at the highest blank strip; None when there is none."""
    spans = _merge(sorted((box.top, box.bottom) for box in region))
    if len(spans) == 1:
        return None
    strips = pairwise(spans)
    edge = max((below[0] - above[1], below[0]) for above, below in strips)[1]
    above = [box for box in region if box.top < edge]
    return above, [box for box in region if box.top >= edge]


def _merge(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Unite overlapping intervals, which come sorted."""
    merged = [spans[0]]
    for start, end in spans[1:]:
        if start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _lines(region: list[Box]) -> list[list[Box]]:
    lines: list[list[Box]] = []
    for box in sorted(region, key=lambda box: (box.top, box.x0)):
        if lines and _is_on_line(box, lines[-1]):
            lines[-1].append(box)
        else:
            lines.append([box])
    return [sorted(line, key=lambda box: box.x0) for line in lines]


def _is_on_line(box: Box, line: list[Box]) -> bool:
    if box.is_table or line[0].is_table:
        return False
    top = min(other.top for other in line)
    bottom = max(other.bottom for other in line)
    overlap = min(bottom, box.bottom) - max(top, box.top)
    return overlap >= _SAME_LINE_OVERLAP * min(bottom - top, box.bottom - box.top)
