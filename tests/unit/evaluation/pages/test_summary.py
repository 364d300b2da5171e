"""Reports on a terminal."""

from scp_ray.evaluation.pages.content import Report, Section, Table
from scp_ray.evaluation.pages.summary import render_summary


def test_tables_are_aligned_and_say_what_is_left_out() -> None:
    table = Table(
        ("name", "n", "what"), (("a", "5", "x"), ("longer", "12", "yy")), 3, frozenset({2})
    )
    shown = render_summary(Report("Title", "file", (Section("Part", ("A note.",), None, table),)))
    assert shown.splitlines() == [
        "Title",
        "file",
        "",
        "Part",
        "A note.",
        "  name     n  what",
        "  a        5  x",
        "  longer  12  yy",
        "  and 3 more",
    ]


def test_text_of_files_cannot_steer_the_terminal() -> None:
    table = Table(("name",), (("\x1b[31mred\nnext" + "x" * 100,),))
    shown = render_summary(Report("T", "\x07file", (Section("P", (), None, table),)))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    cell = shown.splitlines()[-1].strip()
    assert cell.startswith(r"\x1b[31mred next")
    assert (len(cell), cell[-1]) == (44, "…")
