"""Shows a report as Markdown: headings, notes and tables; plots are on the page alone."""

import re
from typing import Final

from scp_ray.evaluation.pages.content import Cells, Report, Section, Table
from scp_ray.evaluation.pages.printable import printable

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|&~])")


def render_markdown(report: Report) -> str:
    """Return a report as a whole file of Markdown; whatever it quotes is text there."""
    parts = [f"# {_text(report.title)}", _text(report.subtitle)]
    parts += [part for section in report.sections for part in _section(section)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    notes = [_text(note) for note in section.notes]
    table = [_table(section.table)] if section.table else []
    return [f"## {_text(section.title)}", *notes, *table]


def _table(table: Table) -> str:
    is_text = [place == 0 or place in table.text_columns for place in range(len(table.columns))]
    rule = "".join("|---" if left else "|--:" for left in is_text) + "|"
    more = [f"\nand {table.num_left_out} more"] if table.num_left_out else []
    return "\n".join([_row(table.columns), rule, *(_row(row) for row in table.rows), *more])


def _row(cells: Cells) -> str:
    return "".join(f"| {_text(cell)} " for cell in cells) + "|"


def _text(text: str) -> str:
    line = " ".join(printable(text).split())
    return _SPECIAL.sub(r"\\\1", line)
