"""PDF files to Markdown."""

import logging

import pytest
from pdfplumber.utils.exceptions import PdfminerException
from reportlab.lib.pagesizes import A4

from scp_ray.corpus import pdf
from scp_ray.corpus.pdf import parse_pdf
from scp_ray.errors import DocumentError, QuarantineReason


def test_headings_text_and_ruled_tables_become_markdown(pdf_writer: type) -> None:
    writer = pdf_writer().text("Aqua 300", 24).text("Error codes", 16, gap=20)
    writer.text("Each code stands for one cause, named in", gap=10).text("the table below.")
    writer.table([["Code", "Cause"], ["E25", "Pump | hose"], ["E40", "Door\nopen"]])
    writer.text("Unplug the machine first.", gap=20)
    assert parse_pdf(writer.data()) == (
        "# Aqua 300\n\n## Error codes\n\n"
        "Each code stands for one cause, named in\nthe table below.\n\n"
        "| Code | Cause |\n| --- | --- |\n| E25 | Pump \\| hose |\n| E40 | Door open |\n\n"
        "Unplug the machine first."
    )


def test_two_columns_are_read_one_after_the_other(pdf_writer: type) -> None:
    writer = pdf_writer()
    for i in range(10):
        writer.at(f"Left line {i} of the first column", 100 + 12 * i, 10, 60)
        writer.at(f"Right line {i} of the next column", 100 + 12 * i, 10, 330)
    text = parse_pdf(writer.data())
    assert text.index("Left line 9") < text.index("Right line 0")


def test_headers_footers_and_page_numbers_are_left_out(pdf_writer: type) -> None:
    writer = pdf_writer()
    for number in (1, 2, 3):
        writer.at("Aqua 300", 30).text(f"Wash programme {number} of the Aqua 300.")
        writer.at(f"Page {number} of 3", A4[1] - 20).next_page()
    assert parse_pdf(writer.data()) == "\n\n".join(
        f"Wash programme {number} of the Aqua 300." for number in (1, 2, 3)
    )


def test_a_frame_around_text_is_no_table(pdf_writer: type) -> None:
    assert parse_pdf(pdf_writer().table([["Keep this manual."]]).data()) == "Keep this manual."


def test_an_empty_grid_is_no_table(pdf_writer: type) -> None:
    rows = [["0", "", "", ""], ["", "", "", ""], ["", "9", "", ""]]
    assert "|" not in parse_pdf(pdf_writer().table(rows).text("Torque").data())


def test_a_page_full_of_strokes_is_read_without_a_search_for_tables(
    pdf_writer: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pdf_writer().table([["Code", "Cause"], ["E25", "Pump"]]).data()
    monkeypatch.setattr(pdf, "_MAX_EDGES", 2)
    assert parse_pdf(data) == "Code Cause\nE25 Pump"


@pytest.mark.parametrize("angle", [90, -90])
def test_turned_text_is_read_at_the_end_of_its_page(pdf_writer: type, angle: int) -> None:
    writer = pdf_writer().text("Upright")
    writer.canvas.saveState()
    writer.canvas.translate(300, 400)
    writer.canvas.rotate(angle)
    writer.canvas.drawString(0, 0, "Sideways and")
    writer.canvas.drawString(0, -12, "below that.")
    writer.canvas.restoreState()
    assert parse_pdf(writer.text("text.").data()).split() == [
        *("Upright", "text.", "Sideways", "and", "below", "that.")
    ]


def test_characters_without_meaning_are_marked(pdf_writer: type) -> None:
    writer = pdf_writer().text("• Fill the tank.").text("Size 5 • wide")
    assert parse_pdf(writer.data()) == "- Fill the tank.\nSize 5 \ufffd wide"


def test_a_font_without_meanings_is_refused(pdf_writer: type) -> None:
    with pytest.raises(DocumentError, match="broken: its fonts do not say") as caught:
        parse_pdf(pdf_writer().text("••• a").data())
    assert caught.value.reason is QuarantineReason.BROKEN


def test_a_broken_file_is_silent(
    pdf_writer: type, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data = pdf_writer().text("Text").data()
    bad = data.replace(b"/Root", b"/Toor")
    with pytest.raises(PdfminerException, match="No /Root object"):
        parse_pdf(bad)
    assert capfd.readouterr().err == ""
    assert not caplog.records


def test_levels_of_loggers_are_put_back(pdf_writer: type) -> None:
    before = logging.getLogger("pdfminer").level
    parse_pdf(pdf_writer().text("Text").data())
    assert logging.getLogger("pdfminer").level == before
