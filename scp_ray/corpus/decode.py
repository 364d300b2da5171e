"""Bytes to text, changing nothing but the encoding.

A byte order mark, then UTF-8, then UTF-16 and UTF-32 by their NUL bytes, then what the file
declares (HTML), then detection. Wrong text is worse than none: what no rule is sure of is
quarantined, and the detail says what to do.
"""

import codecs
import re
import unicodedata

from scp_ray.corpus.encodings import LATIN, NON_LATIN, guess_encoding, non_ascii_lines, utf8_share
from scp_ray.errors import DocumentError, QuarantineReason

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_DECLARABLE = frozenset({*LATIN, *NON_LATIN, "iso8859_15", "iso8859_5"})
# What a label means in practice: the superset (WHATWG Encoding, "names and labels").
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859_1": "cp1252",
    "iso8859_9": "cp1254",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
}

_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_NOT_IN_TEXT = frozenset({"Cn", "Co", "Cc"})  # unassigned, private use, control
_MAX_CONTROL_SHARE = 0.05  # escape sequences of a terminal log are text, a program is not
_MIN_UTF8_SHARE = 0.25  # legacy text is valid UTF-8 by chance in under 0.15 of its sequences
_WIDE_SAMPLE = 64 * 1024


def decode_text(data: bytes, declared: str | None = None) -> str:
    """Decode a text file. Line ends, white space and Unicode form stay as they are.

    Args:
        data: The whole file.
        declared: Encoding that the file names itself; used only where the bytes are not UTF-8.

    Returns:
        The text, without the byte order mark. It holds at least one visible character.

    Raises:
        DocumentError: EMPTY if there is nothing but white space, UNDECODABLE if the bytes are not
            text or the encoding cannot be told with confidence.
    """
    text = _decode(data, declared)
    if not text or text.isspace():
        detail = "the file has nothing but white space" if text else "the file is empty"
        raise DocumentError(QuarantineReason.EMPTY, detail)
    return text


def _decode(data: bytes, declared: str | None) -> str:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decode_marked(data[len(bom) :], encoding)
    if b"\0" in data:
        return _decode_wide(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _decode_legacy(data, declared, error)
    _check_controls(text)
    return text


def _decode_marked(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        detail = f"begins with the mark of {encoding} but byte {error.start} is not {encoding}"
        raise DocumentError(QuarantineReason.UNDECODABLE, detail) from error


def _check_controls(text: str) -> None:
    num_controls = len(_CONTROLS.findall(text))
    if num_controls > _MAX_CONTROL_SHARE * len(text):
        detail = f"{num_controls} of {len(text)} characters are control characters; is it binary?"
        raise DocumentError(QuarantineReason.UNDECODABLE, detail)


def _decode_wide(data: bytes) -> str:
    """Decode UTF-16 or UTF-32 without a mark: of the readings that are text, the most ASCII."""
    readings = [text for encoding in _WIDE if (text := _read_wide(data, encoding)) is not None]
    if not readings:
        detail = "it has NUL bytes and is neither UTF-16 nor UTF-32; is it binary?"
        raise DocumentError(QuarantineReason.UNDECODABLE, detail)
    return max(readings, key=_ascii_share)


def _read_wide(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    sample = text[:_WIDE_SAMPLE]
    visible = [c for c in sample if not c.isspace()]
    has_blanks = len(visible) < len(sample)
    is_odd = any(unicodedata.category(c) in _NOT_IN_TEXT for c in visible)
    return text if has_blanks and not is_odd and "\0" not in text else None


def _ascii_share(text: str) -> float:
    sample = text[:_WIDE_SAMPLE]
    return sum(map(str.isascii, sample)) / len(sample)


def _decode_legacy(data: bytes, declared: str | None, error: UnicodeDecodeError) -> str:
    text = _read_declared(data, declared) if declared else None
    if text is not None:
        return text
    sample = non_ascii_lines(data)
    if utf8_share(sample) >= _MIN_UTF8_SHARE:
        detail = f"mostly UTF-8, but byte {error.start} is not; is it damaged?"
        raise DocumentError(QuarantineReason.UNDECODABLE, detail) from error
    encoding = guess_encoding(sample)
    text = _read_clean(data, encoding) if encoding else None
    if text is None:
        detail = "the encoding cannot be told with confidence; save the file as UTF-8"
        raise DocumentError(QuarantineReason.UNDECODABLE, detail) from error
    return text


def _read_declared(data: bytes, declared: str) -> str | None:
    try:
        encoding = codecs.lookup(declared).name.replace("-", "_")
    except (LookupError, ValueError):
        return None
    encoding = _SUPERSETS.get(encoding, encoding)
    return _read_clean(data, encoding) if encoding in _DECLARABLE else None


def _read_clean(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if _CONTROLS.search(text) else text
