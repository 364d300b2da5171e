"""A report as Markdown."""

from scp_ray.evaluation.pages.content import Report, Section, Table
from scp_ray.evaluation.pages.markdown import render_markdown


def test_sections_become_headings_notes_and_tables() -> None:
    table = Table(("name", "value", "note"), (("a", "1", "x"),), 2, frozenset({2}))
    report = Report("Title", "Subtitle", (Section("Part", ("Note.",), table=table), Section("Z")))
    assert render_markdown(report) == (
        "# Title\n\nSubtitle\n\n## Part\n\nNote.\n\n"
        "| name | value | note |\n|---|--:|---|\n| a | 1 | x |\n\nand 2 more\n\n## Z\n"
    )


def test_text_of_others_stays_text() -> None:
    text = render_markdown(Report("a|b <i> *c* [d](e) &lt; ~~f~~", "line\nbreak \x1b", ()))
    assert text == "# a\\|b \\<i\\> \\*c\\* \\[d\\](e) \\&lt; \\~\\~f\\~\\~\n\nline break \\\\x1b\n"
