"""Decoding: the text is the file, and what is no text is refused."""

import codecs
import random

import pytest

from scp_ray.corpus.decode import decode_text
from scp_ray.errors import DocumentError, QuarantineReason

TEXT = "Grüße:\r\n\tnicht öffnen\u00a0–  „Stopp“\rEnde\u2028e\u0301\n\n"


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_line_ends_white_space_and_unicode_form_stay(bom: bytes, encoding: str) -> None:
    assert decode_text(bom + TEXT.encode(encoding)) == TEXT


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["Hold for 5 s.\r\n", "電源ボタンを押します。\n次の手順\n"])
def test_utf16_and_utf32_without_a_mark(encoding: str, text: str) -> None:
    assert decode_text(text.encode(encoding)) == text


def test_only_the_mark_at_the_start_is_no_text() -> None:
    assert decode_text(codecs.BOM_UTF8 + "\ufeffone\ufefftwo".encode()) == "\ufeffone\ufefftwo"


def test_legacy_text_is_decoded_with_its_line_ends() -> None:
    text = "Drücken Sie die Taste für mindestens fünf Sekunden, bis das Gerät ertönt.\r\n" * 3
    assert decode_text(text.encode("cp1252")) == text


def test_a_declared_encoding_decides_where_bytes_fit_several() -> None:
    data = "№ 5 Кнопка".encode("koi8-r", errors="replace")
    assert decode_text(data, "KOI8-R") == "? 5 Кнопка"


@pytest.mark.parametrize("label", ["iso-8859-1", "latin1", "us-ascii", "windows-1252"])
def test_what_declares_latin1_is_windows_1252(label: str) -> None:
    assert decode_text("5 € – “ok”".encode("cp1252"), label) == "5 € – “ok”"


@pytest.mark.parametrize("label", ["utf-16", "no-such-code", "unicode_escape", "hex", "iso-8859-1"])
def test_a_declaration_does_not_override_utf8(label: str) -> None:
    assert decode_text("größer \\x41".encode(), label) == "größer \\x41"


@pytest.mark.parametrize("label", ["no-such-code", "rot13", "unicode_escape", "a\0b"])
def test_an_unusable_declaration_is_passed_over(label: str) -> None:
    assert decode_text("Größe fünf".encode("cp1252"), label) == "Größe fünf"


def test_a_declaration_that_does_not_fit_is_passed_over() -> None:
    text = "Drücken Sie die Taste für mindestens fünf Sekunden, bis das Gerät ertönt."
    assert decode_text(text.encode("cp1252"), "euc-kr") == text


def test_terminal_escapes_are_text() -> None:
    text = "error E25: \x1b[31mdrain blocked\x1b[0m, clean the filter\n"
    assert decode_text(text.encode()) == text


@pytest.mark.parametrize("data", [b"", b" \r\n\t", "\u2003\u00a0\n".encode(), codecs.BOM_UTF8])
def test_nothing_but_white_space_is_empty(data: bytes) -> None:
    with pytest.raises(DocumentError, match="empty: the file") as caught:
        decode_text(data)
    assert caught.value.reason is QuarantineReason.EMPTY


RANDOM = random.Random(7)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        pytest.param(RANDOM.randbytes(4000), "NUL bytes", id="random"),
        pytest.param(
            bytes(RANDOM.randrange(1, 256) for _ in range(4000)), "confidence", id="random-no-nul"
        ),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "NUL bytes", id="png"),
        pytest.param(b"text\0with a nul", "NUL bytes", id="nul"),
        pytest.param(b"\x01\x02\x03\x04 ab", "control characters", id="controls"),
        pytest.param("Größe fünf Füße".encode() + b" \xff\xfe", "byte 21 is not", id="damaged"),
        pytest.param(codecs.BOM_UTF16_LE + b"abc", "mark of utf-16-le", id="odd-utf16"),
        pytest.param(codecs.BOM_UTF8 + b"ab\xff", "byte 2 is not utf-8", id="marked-not-utf8"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, match: str) -> None:
    with pytest.raises(DocumentError, match=match) as caught:
        decode_text(data)
    assert caught.value.reason is QuarantineReason.UNDECODABLE
