"""Which file goes to which parser."""

from importlib.metadata import version

import pytest

from scp_ray.corpus import formats
from scp_ray.corpus.formats import PARSER_REVISION, extension, is_row_file, is_supported


@pytest.mark.parametrize(
    "key",
    [
        *(
            f"a/b.{name}"
            for name in ["txt", "md", "html", "htm", "pdf", "docx", "jsonl", "parquet"]
        ),
        "A.PDF",
        "x.y.Md",
    ],
)
def test_documented_formats_are_supported(key: str) -> None:
    assert is_supported(key)


@pytest.mark.parametrize("key", ["a.doc", "a", "txt", "a.txt/b", "a.pdf.bak", ".txt", "a.json"])
def test_other_files_are_not(key: str) -> None:
    assert not is_supported(key)


def test_row_files_are_those_with_a_document_a_row() -> None:
    assert [key for key in ("a.JSONL", "a.parquet", "a.txt", "a.pdf") if is_row_file(key)] == [
        "a.JSONL",
        "a.parquet",
    ]


def test_an_extension_has_small_letters_and_its_dot() -> None:
    assert extension("docs/v1.2/Manual.HTML") == ".html"


@pytest.mark.parametrize(
    "library", ["beautifulsoup4", "charset-normalizer", "mammoth", "markdownify", "pdfminer.six"]
)
def test_the_revision_changes_with_a_parser_library(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def newer(name: str) -> str:
        return "999.0" if name == library else version(name)

    assert formats._parser_revision() == PARSER_REVISION
    monkeypatch.setattr(formats, "version", newer)
    assert formats._parser_revision() != PARSER_REVISION
