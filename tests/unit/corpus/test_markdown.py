"""HTML trees to Markdown."""

import pytest
from bs4 import BeautifulSoup

from scp_ray.corpus.markdown import soup_to_markdown


def convert(html: str) -> str:
    return soup_to_markdown(BeautifulSoup(html, "html.parser"))


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5, 6])
def test_headings_become_hash_lines(level: int) -> None:
    html = f"<p>a</p><h{level}>Descaling\n the  boiler</h{level}><p>b</p>"
    assert convert(html) == f"a\n\n{'#' * level} Descaling the boiler\n\nb"


def test_a_table_becomes_a_pipe_table() -> None:
    html = """<table><thead><tr><th>Item</th><th>Value</th></tr></thead>
      <tbody><tr><td>Voltage</td><td>230&nbsp;V</td></tr><tr><td>A|B</td><td>x<br>y</td></tr></tbody>
    </table>"""
    assert convert(html) == (
        "| Item | Value |\n| --- | --- |\n| Voltage | 230\u00a0V |\n| A\\|B | x y |"
    )


def test_the_first_row_is_the_head_where_none_is_marked() -> None:
    html = "<table><tr><td>Code</td><td>Cause</td></tr><tr><td>E25</td><td>Pump</td></tr></table>"
    assert convert(html) == "| Code | Cause |\n| --- | --- |\n| E25 | Pump |"


def test_a_merged_cell_is_repeated_in_each_row_that_it_spans() -> None:
    html = """<table><tr><th>Model</th><th>Code</th><th>Cause</th></tr>
      <tr><td rowspan="3">225B</td><td>E1</td><td rowspan="2">Pump</td></tr>
      <tr><td>E2</td></tr><tr><td>E3</td><td>Door</td></tr><tr><td>235B</td><td>E1</td><td>Hose</td></tr>
    </table>"""
    assert convert(html).splitlines()[2:] == [
        "| 225B | E1 | Pump |",
        "| 225B | E2 | Pump |",
        "| 225B | E3 | Door |",
        "| 235B | E1 | Hose |",
    ]


def test_a_span_at_the_end_of_a_row_and_a_wide_cell() -> None:
    html = """<table><tr><td>a</td><td rowspan="2">b</td></tr><tr><td>c</td></tr>
      <tr><td colspan="2">wide</td></tr><tr><td rowspan="9">d</td><td>e</td></tr></table>"""
    lines = convert(html).splitlines()
    assert lines[2] == "| c | b |"
    assert lines[3].startswith("| wide |")
    assert lines[4] == "| d | e |"


@pytest.mark.parametrize("span", ["0", "-3", "x", "", "99999999999999999999"])
def test_a_senseless_span_counts_as_one(span: str) -> None:
    html = f'<tr><td rowspan="{span}">a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr>'
    assert convert(f"<table>{html}</table>").splitlines()[2] == "| c | d |"


def test_a_forged_span_does_not_multiply_the_text() -> None:
    rows = f'<tr><td rowspan="999">{"x" * 10_000}</td><td>0</td></tr>' + "<tr><td>1</td></tr>" * 999
    assert len(convert(f"<table>{rows}</table>")) < 1_100_000


def test_a_layout_table_is_read_as_blocks() -> None:
    html = """<table><tr><td><h2>Setup</h2><p>Unpack it.</p></td><td>
      <table><tr><td>k</td><td>v</td></tr><tr><td>k2</td><td>v2</td></tr></table></td></tr></table>"""
    assert convert(html) == "## Setup\n\nUnpack it.\n\n| k | v |\n| --- | --- |\n| k2 | v2 |"


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td>Keep this manual.</td></tr></table>",
        '<table role="presentation"><tr><td>Keep this</td></tr><tr><td>manual.</td></tr></table>',
    ],
)
def test_a_frame_is_no_table(html: str) -> None:
    assert convert(html).split() == ["Keep", "this", "manual."]


def test_names_are_not_escaped() -> None:
    html = "<p>Set X_200 to 2 * 3 in #5 <b>ON_OFF</b> [A]</p>"
    assert convert(html) == "Set X_200 to 2 * 3 in #5 **ON_OFF** [A]"


def test_links_keep_their_text_and_lead_out_of_the_document_only() -> None:
    html = """<p><a href="ch2.html">Chapter 2</a>, <a href="https://acme.example/a">Acme</a>,
      <a href="mailto:a@acme.example">mail</a>, <a name="x">anchor</a></p>"""
    assert convert(html) == (
        "Chapter 2, [Acme](https://acme.example/a), [mail](mailto:a@acme.example), anchor"
    )


def test_marks_beside_headings_are_left_out() -> None:
    assert convert('<h2>Setup<a href="#setup">\u00b6</a></h2>') == "## Setup"


def test_pictures_leave_their_description() -> None:
    html = '<p>Press <img src="data:image/png;base64,AAAA" alt="START"> now <img src="b.png"></p>'
    assert convert(html) == "Press START now"


def test_lists_and_preformatted_text() -> None:
    html = "<ol><li>One<ul><li>a</li><li>b</li></ul></li><li>Two</li></ol><pre>x  y\n z</pre>"
    assert convert(html) == "1. One\n   - a\n   - b\n2. Two\n\n```\nx  y\n z\n```"


def test_line_breaks_leave_no_blanks_behind() -> None:
    assert convert("<p>a<br>b</p><p><br></p><p>c</p>") == "a\nb\n\nc"


def test_declarations_and_comments_are_no_text() -> None:
    html = "<!DOCTYPE html><!-- note --><![if !IE]><?php echo 1 ?><p>Text</p>"
    assert convert(html) == "Text"
