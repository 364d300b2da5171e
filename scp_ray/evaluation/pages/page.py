"""Shows a report as one page of HTML: it opens offline, has no script and asks for nothing.

Whatever comes from an audited file is text there; none of it becomes HTML.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from scp_ray.evaluation.pages.content import Report, Section, Table
from scp_ray.evaluation.pages.plots import draw
from scp_ray.evaluation.pages.printable import printable

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #57606a; --line: #d5dae0;
  --paper: #ffffff; --bar: #6d9fd4; --c0: #1f6fb5; --c1: #c2571a; --c2: #2f7d3b; --c3: #8b4bb0;
  --c4: #b3263e; --c5: #6f6414; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa5b1; --line: #3a424b;
  --paper: #15191e; --bar: #3f6f9f; --c0: #6db1ee; --c1: #f0955a; --c2: #74c682; --c3: #c795e6;
  --c4: #f2788c; --c5: #cfc05a; } }
.c0, .k0 { --c: var(--c0); } .c1, .k1 { --c: var(--c1); } .c2 { --c: var(--c2); }
.c3 { --c: var(--c3); } .c4 { --c: var(--c4); } .c5 { --c: var(--c5); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 0.5rem; }
p { margin: 0.25rem 0; color: var(--soft); max-width: 46rem; }
svg { display: block; width: 100%; max-width: 34rem; margin: 1rem 0; }
svg text { fill: var(--ink); font-size: 11px; }
svg .tick, svg .value { fill: var(--soft); }
svg .grid { stroke: var(--line); }
svg .bar { fill: var(--bar); }
svg .whisker { stroke: var(--ink); stroke-width: 1.5; }
svg .dot, svg .heat { fill: var(--c); }
svg .band { fill: var(--c); fill-opacity: 0.14; }
svg .line { fill: none; stroke: var(--c); stroke-width: 1.75; }
svg .marked { stroke: var(--soft); stroke-dasharray: 3 3; }
svg .ground { fill: var(--line); fill-opacity: 0.5; }
details { border-bottom: 1px solid var(--line); padding: 0.5rem 0; }
summary { cursor: pointer; }
summary h2 { display: inline; font-size: 1rem; }
.table { overflow-x: auto; margin: 0.75rem 0; }
.table:focus-visible { outline: 2px solid var(--bar); }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.8rem 0.3rem 0; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); white-space: nowrap; overflow-wrap: normal; }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; white-space: normal; }
tbody th { color: var(--ink); font-weight: 400; vertical-align: top; }
.text { text-align: left; white-space: normal; max-width: 24rem; overflow-wrap: break-word; }
td:last-child.text { min-width: 16rem; }
"""
_LEFT: Final = ' class="text"'
_SCOPES: Final = {"col": ' scope="col"', "row": ' scope="row"'}
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def render_page(report: Report) -> str:
    """Return a report as a whole page of HTML."""
    title = _text(report.title)
    sections = "\n".join(_section(section) for section in report.sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n<p>{_text(report.subtitle)}</p>\n{sections}\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    notes = "\n".join(f"<p>{_text(note)}</p>" for note in section.notes)
    plot = draw(section.plot) if section.plot else ""
    table = _table(section.table, section.title) if section.table else ""
    title, content = f"<h2>{_text(section.title)}</h2>", f"{notes}\n{plot}\n{table}"
    if section.is_folded:
        return f"<details>\n<summary>{title}</summary>\n{content}\n</details>"
    return f"<section>\n{title}\n{content}\n</section>"


def _table(table: Table, title: str) -> str:
    is_text = [place == 0 or place in table.text_columns for place in range(len(table.columns))]
    head = _cells(table.columns, is_text, ["th"] * len(is_text), "col")
    tags = ["th", *["td"] * (len(is_text) - 1)]
    rows = "\n".join(f"<tr>{_cells(row, is_text, tags, 'row')}</tr>" for row in table.rows)
    more = f"\n<p>and {table.num_left_out} more</p>" if table.num_left_out else ""
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{_text(title)}">\n<table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>{more}"
    )


def _cells(cells: Sequence[str], is_text: Sequence[bool], tags: Sequence[str], scope: str) -> str:
    return "".join(
        f"<{tag}{_SCOPES[scope] if tag == 'th' else ''}{_LEFT if left else ''}>"
        f"{_text(cell)}</{tag}>"
        for cell, left, tag in zip(cells, is_text, tags, strict=True)
    )


def _text(text: str) -> str:
    return escape(printable(text))
