"""Which file goes to which parser."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from sys import version_info
from typing import Protocol

from scp_ray.corpus.decode import decode_text
from scp_ray.corpus.docx import parse_docx, unpacked_bytes
from scp_ray.corpus.html import parse_html
from scp_ray.corpus.jsonl import read_jsonl
from scp_ray.corpus.parquet import read_parquet
from scp_ray.corpus.pdf import parse_pdf
from scp_ray.corpus.rows import Row

_OWN_REVISION = 1  # counts every change of this package that may change a text
_LIBRARIES = (
    "beautifulsoup4",
    "charset-normalizer",
    "mammoth",
    "markdownify",
    "pdfminer.six",
    "pdfplumber",
)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format in which one file is one document.

    Attributes:
        parse: Makes text of the bytes; raises DocumentError, or anything on a broken file.
        unpacked_bytes: Tells the size that the bytes unpack to, before they are parsed.
    """

    parse: Callable[[bytes], str]
    unpacked_bytes: Callable[[bytes], int] = len


class RowReader(Protocol):
    """Reads a format in which one row is one document."""

    def __call__(
        self, path: Path, max_row_bytes: int, wanted: Collection[int] | None = None
    ) -> Iterator[Row]:
        """Yield the rows in order; ``wanted`` restricts them to some row indexes."""
        ...


FILE_FORMATS: Mapping[str, FileFormat] = {
    ".txt": FileFormat(decode_text),
    ".md": FileFormat(decode_text),
    ".html": FileFormat(parse_html),
    ".htm": FileFormat(parse_html),
    ".pdf": FileFormat(parse_pdf),
    ".docx": FileFormat(parse_docx, unpacked_bytes),
}
ROW_READERS: Mapping[str, RowReader] = {".jsonl": read_jsonl, ".parquet": read_parquet}


def extension(key: str) -> str:
    """Return the extension of a key in small letters, with its dot."""
    return PurePosixPath(key).suffix.lower()


def is_supported(key: str) -> bool:
    """Whether documents can be read from a file of this name."""
    return extension(key) in FILE_FORMATS or is_row_file(key)


def is_row_file(key: str) -> bool:
    """Whether each row of a file of this name is a document of its own."""
    return extension(key) in ROW_READERS


def _parser_revision() -> str:
    parts = [f"corpus-{_OWN_REVISION}", f"python-{version_info.major}.{version_info.minor}"]
    return " ".join(parts + [f"{library}-{version(library)}" for library in _LIBRARIES])


PARSER_REVISION = _parser_revision()
"""Changes whenever the same file could become another text: our own count and the libraries'."""
