"""Rows of .jsonl and .parquet files: what a row must be, and what names its content."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from scp_ray.errors import DocumentError, QuarantineReason
from scp_ray.records import Metadata, MetadataValue
from scp_ray.schema import DOC_ID, TEXT

METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class RowContent:
    """What a good row says: its text, as it is, and a flat map of strings, numbers, booleans."""

    text: str
    metadata: Metadata

    @property
    def sha256(self) -> str:
        """Hash of text and metadata in canonical JSON (sorted keys, no blanks, UTF-8)."""
        return hashlib.sha256(_canonical({TEXT: self.text, METADATA: self.metadata})).hexdigest()


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file.

    Attributes:
        row_index: Its place in the file from 0; a blank line of a .jsonl file counts as a place.
        doc_id: Its name, or None where it has no usable one.
        size_bytes: Of the line, or of text and metadata.
        content: What it says, or why it cannot be used.
    """

    row_index: int
    doc_id: str | None
    size_bytes: int
    content: RowContent | DocumentError


def checked_row(row_index: int, size_bytes: int, fields: Mapping[str, object]) -> Row:
    """Check one row; further fields than doc_id, text and metadata are ignored."""
    doc_id = None
    content: RowContent | DocumentError
    try:
        doc_id = _checked_doc_id(fields.get(DOC_ID))
        metadata = _checked_metadata(fields.get(METADATA))
        content = RowContent(_checked_text(fields.get(TEXT)), metadata)
    except DocumentError as error:
        content = error
    return Row(row_index, doc_id, size_bytes, content)


def metadata_bytes(metadata: object) -> int:
    """Return the size of metadata as JSON, 0 where it is none."""
    return len(json.dumps(metadata, default=str)) if metadata else 0


def invalid(detail: str) -> DocumentError:
    """Return the error of a row that is not what the format says."""
    return DocumentError(QuarantineReason.INVALID_ROW, detail)


def _checked_doc_id(value: object) -> str:
    doc_id = _checked_string(value, DOC_ID)
    if not doc_id.strip():
        detail = f"{DOC_ID} is empty"
        raise invalid(detail)
    return doc_id


def _checked_text(value: object) -> str:
    text = _checked_string(value, TEXT)
    if not text or text.isspace():
        detail = f"{TEXT} has nothing but white space" if text else f"{TEXT} is empty"
        raise DocumentError(QuarantineReason.EMPTY, detail)
    return text


def _checked_string(value: object, name: str) -> str:
    if value is None:
        detail = f"{name} is missing"
        raise invalid(detail)
    if not isinstance(value, str):
        detail = f"{name} must be a string, not {type(value).__name__}"
        raise invalid(detail)
    if not _is_unicode(value):
        detail = f"{name} has half of a surrogate pair, which is not a character"
        raise invalid(detail)
    return value


def _checked_metadata(value: object) -> Metadata:
    """Check that metadata is a flat map; a null value counts as absent, as Parquet writes it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        detail = f"{METADATA} must be a map, not {type(value).__name__}"
        raise invalid(detail)
    return {
        _checked_string(key, f"a key of {METADATA}"): _checked_value(item, key)
        for key, item in value.items()
        if item is not None
    }


def _checked_value(value: object, key: object) -> MetadataValue:
    name = f"{METADATA}.{key}"
    if isinstance(value, str):
        return _checked_string(value, name)
    if not isinstance(value, bool | int | float):
        detail = f"{name} must be a string, a number or a boolean, not {type(value).__name__}"
        raise invalid(detail)
    if isinstance(value, float) and not math.isfinite(value):
        detail = f"{name} must be a finite number, not {value}"
        raise invalid(detail)
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _canonical(value: Mapping[str, object]) -> bytes:
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return text.encode()
