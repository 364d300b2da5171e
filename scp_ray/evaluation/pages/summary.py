"""Shows a report on a terminal."""

import textwrap
from typing import Final

from scp_ray.evaluation.pages.content import Report, Section, Table
from scp_ray.evaluation.pages.printable import printable

_WIDTH: Final = 100
_MOST_CHARACTERS: Final = 44


def render_summary(report: Report) -> str:
    """Return a report as text: headings, notes and tables with aligned columns."""
    head = [_line(report.title), _line(report.subtitle)]
    return "\n".join([*head, *(_section(section) for section in report.sections)])


def _section(section: Section) -> str:
    lines = ["", _line(section.title)]
    for note in section.notes:
        lines += textwrap.wrap(_line(note), _WIDTH)
    return "\n".join([*lines, *(_table(section.table) if section.table else [])])


def _table(table: Table) -> list[str]:
    rows = [[_cell(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    is_text = [place == 0 or place in table.text_columns for place in range(len(widths))]
    lines = [
        "  ".join(
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(row, widths, is_text, strict=True)
        ).rstrip()
        for row in rows
    ]
    more = [f"and {table.num_left_out} more"] if table.num_left_out else []
    return [f"  {line}" for line in [*lines, *more]]


def _cell(text: str) -> str:
    line = _line(text)
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"


def _line(text: str) -> str:
    return " ".join(printable(text).split())
