"""Word files to Markdown."""

import io
import zipfile
from collections.abc import Callable

import pytest
from docx.document import Document as WordDocument
from PIL import Image

from scp_ray.corpus.docx import parse_docx, unpacked_bytes
from scp_ray.errors import DocumentError, QuarantineReason

DocxOf = Callable[[Callable[[WordDocument], None]], bytes]


def write_manual(document: WordDocument) -> None:
    document.add_heading("Aqua 300", level=0)
    document.add_heading("Error codes", level=2)
    document.add_paragraph("Part X_200 * 2")
    document.add_paragraph("Unplug it.", style="List Bullet")
    table = document.add_table(rows=3, cols=2)
    for row, cells in zip(
        table.rows, [("Code", "Cause"), ("E25", "Pump"), ("", "Door")], strict=True
    ):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))


def test_headings_lists_and_tables_become_markdown(docx_of: DocxOf) -> None:
    assert parse_docx(docx_of(write_manual)) == (
        "# Aqua 300\n\n### Error codes\n\nPart X_200 * 2\n\n- Unplug it.\n\n"
        "| Code | Cause |\n| --- | --- |\n| E25 | Pump |\n| E25 | Door |"
    )


def test_without_a_title_headings_keep_their_level(docx_of: DocxOf) -> None:
    def write(document: WordDocument) -> None:
        document.add_heading("Setup", level=1)
        document.add_heading("Hose", level=2)

    assert parse_docx(docx_of(write)) == "# Setup\n\n## Hose"


def test_a_picture_is_not_part_of_the_text(docx_of: DocxOf) -> None:
    def write(document: WordDocument) -> None:
        picture = io.BytesIO()
        Image.new("RGB", (2, 2)).save(picture, "PNG")
        picture.seek(0)
        document.add_paragraph("Before")
        document.add_picture(picture)

    assert parse_docx(docx_of(write)) == "Before"


def test_unpacked_size_is_that_of_all_parts(docx_of: DocxOf) -> None:
    data = docx_of(write_manual)
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        assert unpacked_bytes(data) == sum(len(parts.read(name)) for name in parts.namelist())


@pytest.mark.parametrize(
    ("data", "reason", "match"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), QuarantineReason.ENCRYPTED, "password"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"),
            QuarantineReason.BROKEN,
            "save it as .docx",
        ),
        (b"PK\x03\x04 cut off", QuarantineReason.BROKEN, "not a .docx file, or cut off"),
    ],
)
def test_what_is_no_open_docx_says_what_it_is(
    data: bytes, reason: QuarantineReason, match: str
) -> None:
    with pytest.raises(DocumentError, match=match) as caught:
        unpacked_bytes(data)
    assert caught.value.reason is reason


def test_parts_with_a_password_are_encrypted(docx_of: DocxOf) -> None:
    data = bytearray(docx_of(write_manual))
    entry = data.index(b"PK\x01\x02")
    data[entry + 8] |= 1  # the flag of the first entry of the directory
    with pytest.raises(DocumentError, match="encrypted: its parts need a password"):
        unpacked_bytes(bytes(data))
