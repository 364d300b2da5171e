"""Pages to Markdown."""

import pytest

from scp_ray.corpus.html import parse_html
from scp_ray.errors import DocumentError

PAGE = """<!DOCTYPE html>
<html><head><title>Aqua 300 | Acme</title><style>p { color: red }</style>
<script>var hidden = "no";</script></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop</a></li></ul></nav>
<h1>Aqua 300</h1><p>Hold <b>START</b> for
5 s.</p><template><p>unused</p></template>
<table><tr><th>Code</th><th>Cause</th></tr><tr><td>E25</td><td>Pump</td></tr></table>
<footer>Acme 2024, part 300-7</footer></body></html>"""


def test_content_is_kept_and_scripts_styles_and_menus_are_not() -> None:
    assert parse_html(PAGE.encode()) == (
        "# Aqua 300 | Acme\n\n# Aqua 300\n\nHold **START** for 5 s.\n\n"
        "| Code | Cause |\n| --- | --- |\n| E25 | Pump |\n\nAcme 2024, part 300-7"
    )


def test_a_title_that_the_page_repeats_stands_once() -> None:
    html = b"<title>Aqua\n 300</title><h1>Aqua <i>300</i></h1><p>Text"
    assert parse_html(html) == "# Aqua *300*\n\nText"


def test_an_unclosed_menu_does_not_take_the_page_with_it() -> None:
    html = '<nav><a href="/">Home</a><h1>Aqua 300</h1><p>' + "Hold the button. " * 20
    assert "# Aqua 300" in parse_html(html.encode())


def test_a_menu_by_role_is_left_out_once() -> None:
    html = b'<nav><div role="navigation"><a href="/">Home</a></div></nav><p>Text</p>'
    assert parse_html(html) == "Text"


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="koi8-r">',
        "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=koi8-r'>",
        '<?xml version="1.0" encoding="koi8-r"?>',
    ],
)
def test_the_declared_encoding_is_used(head: str) -> None:
    assert parse_html(f"{head}<p>Кнопка".encode("koi8-r")) == "Кнопка"


def test_utf8_wins_over_a_wrong_declaration() -> None:
    assert parse_html('<meta charset="iso-8859-1"><p>Größe'.encode()) == "Größe"


def test_a_thousand_open_paragraphs_are_a_thousand_paragraphs() -> None:
    assert parse_html(b"<p>Step" * 1000).count("\n\n") == 999


@pytest.mark.parametrize("html", [b"manual.txt", b'<?xml version="1.0"?><html><p>Text</html>'])
def test_what_looks_like_something_else_gives_no_warning(html: bytes) -> None:
    assert parse_html(html) in {"manual.txt", "Text"}


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(DocumentError, match="empty"):
        parse_html(b" \n")
