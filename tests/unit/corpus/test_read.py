"""From inputs to documents, and thirty ways in which an input can be broken."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docx.document import Document as WordDocument
from PIL import Image
from reportlab.lib.utils import ImageReader

from scp_ray.corpus.inventory import inventory_file
from scp_ray.corpus.read import ReadResult, read_documents
from scp_ray.errors import DocumentError, QuarantineReason
from scp_ray.protocols import ObjectStore
from scp_ray.records import Document
from scp_ray.sections import CorpusConfig

StoreOf = Callable[..., ObjectStore]
CONFIG = CorpusConfig(max_document_bytes=2_000_000)


def read_one(store: ObjectStore, key: str, row_index: int = -1) -> ReadResult:
    (result,) = read_documents(store, key, [row_index], CONFIG)
    return result


# Good inputs


@pytest.mark.parametrize("key", ["a/b.txt", "b.md", "C.MD"])
def test_text_files_are_their_text(store_of: StoreOf, key: str) -> None:
    text = "\ufeff# Aqua 300\r\n\r\n\tHold *START*  for 5 s \r"
    data = b"\xef\xbb\xbf" + text.encode()
    store = store_of({key: data})
    document = Document(key, text, f"{store.url.rstrip('/')}/{key}")
    assert read_one(store, key) == ReadResult(key, -1, document, hashlib.sha256(data).hexdigest())


def test_parsed_formats_agree_on_one_text(
    store_of: StoreOf,
    docx_of: Callable[[Callable[[WordDocument], None]], bytes],
    pdf_writer: type,
) -> None:
    def write(document: WordDocument) -> None:
        document.add_heading("Aqua 300", level=1)
        document.add_paragraph("Hold START for five seconds, until the lamp is on.")

    html = "<h1>Aqua 300</h1><p>Hold START for five seconds, until the lamp is on."
    pdf = pdf_writer().text("Aqua 300", 20)
    pdf.text("Hold START for five seconds, until the lamp is on.", gap=20)
    files = {"a.docx": docx_of(write), "a.html": html.encode(), "a.pdf": pdf.data()}
    outcomes = [read_one(store_of(files), key).outcome for key in files]
    assert {outcome.text for outcome in outcomes if isinstance(outcome, Document)} == {
        "# Aqua 300\n\nHold START for five seconds, until the lamp is on."
    }
    assert all(isinstance(outcome, Document) for outcome in outcomes)


def jsonl(*rows: object) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def parquet(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("key", ["r.jsonl", "r.parquet"])
def test_rows_are_documents_in_their_order(store_of: StoreOf, key: str) -> None:
    rows = [{"doc_id": f"d{i}", "text": f"text {i}\r\n", "metadata": {"n": i}} for i in range(5)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    store = store_of({key: jsonl(*rows) if key == "r.jsonl" else parquet(**columns)})
    root = store.url.rstrip("/")
    results = list(read_documents(store, key, [3, 0], CONFIG))
    assert [result.outcome for result in results] == [
        Document("d0", "text 0\r\n", f"{root}/{key}#0", {"n": 0}),
        Document("d3", "text 3\r\n", f"{root}/{key}#3", {"n": 3}),
    ]
    assert [(result.doc_id, result.row_index) for result in results] == [("d0", 0), ("d3", 3)]


@pytest.mark.parametrize("key", ["a.txt", "r.jsonl", "r.parquet"])
def test_the_hash_is_that_of_the_inventory(store_of: StoreOf, key: str) -> None:
    table = parquet(doc_id=["a"], text=["t"], metadata=[{"model": "225B"}])
    line = jsonl({**ROW, "metadata": {"model": "225B"}})
    store = store_of({"a.txt": b"text", "r.jsonl": line, "r.parquet": table})
    (source,) = (item for item in store.list() if item.key == key)
    stock = inventory_file(store, source, CONFIG).to_pylist()
    result = read_one(store, key, stock[0]["row_index"])
    assert result.content_sha256 == stock[0]["content_sha256"] != ""


def test_halves_of_surrogate_pairs_are_replaced(
    store_of: StoreOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scp_ray.corpus import read
    from scp_ray.corpus.formats import FileFormat

    odd = FileFormat(lambda _: "\ufeffa \ud800 b \ud83d\ude00")
    monkeypatch.setattr(read, "FILE_FORMATS", {".pdf": odd})
    outcome = read_one(store_of({"a.pdf": b"x"}), "a.pdf").outcome
    assert isinstance(outcome, Document)
    assert outcome.text == "\ufeffa \ufffd b \U0001f600"


# Broken inputs


def zipped(**parts: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name.replace("__", "/") + ".xml", data)
    return buffer.getvalue()


def scan(pdf_writer: type) -> bytes:
    pdf = pdf_writer()
    pdf.canvas.drawImage(ImageReader(Image.new("RGB", (4, 4))), 60, 60, 400, 600)
    return pdf.data()


def encrypted(pdf_writer: type) -> bytes:
    return pdf_writer(encrypt="secret").text("Hold START.").data()


def cut_off(pdf_writer: type) -> bytes:
    data = pdf_writer().text("Hold START.").data()
    return data[: len(data) // 2]


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000)
ROW = {"doc_id": "a", "text": "t"}

WHOLE_FILES = {
    "empty": ("a.txt", b"", "empty", "the file is empty"),
    "spaces": ("a.md", b" \r\n\t ", "empty", "nothing but white space"),
    "punctuation": ("a.txt", b"-----\n***\n", "empty", "no words"),
    "binary": ("a.txt", b"\x7fELF\x02\x01\x01\x00\x00\x3e\x00", "undecodable", "is it binary"),
    "damaged utf-8": ("a.txt", "Größe fünf".encode() + b"\xc3 \xff\xfe", "undecodable", "UTF-8"),
    "odd utf-16": ("a.txt", b"\xff\xfea\0b", "undecodable", "mark of utf-16-le"),
    "html without text": ("a.html", b"<title></title><script>x</script><p> ", "empty", "no words"),
    "html with an empty table": ("a.htm", b"<table><tr><td><td><tr><td></table>", "empty", "no"),
    "html too deep": ("a.html", b"<div>" * 5000 + b"x", "broken", "RecursionError"),
    "html binary": ("a.html", b"<p>\0\x01\x02", "undecodable", "is it binary"),
    "pdf of nothing": ("a.pdf", b"", "broken", "not a PDF"),
    "no pdf": ("a.pdf", b"Hold START.", "broken", "not a PDF"),
    "pdf without objects": ("a.pdf", b"%PDF-1.7\n%%EOF", "broken", "the parser failed: Pdf"),
    "docx of nothing": ("a.docx", b"", "broken", "not a .docx"),
    "no docx": ("a.docx", b"Hold START.", "broken", "not a .docx"),
    "docx cut off": ("a.docx", zipped(word__document=b"<a/>")[:-30], "broken", "cut off"),
    "docx without document": ("a.docx", zipped(word__other=b"<a/>"), "broken", "the parser failed"),
    "docx of bad xml": ("a.docx", zipped(word__document=b"<a"), "broken", "the parser failed"),
    "docx with a password": ("a.docx", OLE, "encrypted", "needs a password"),
    "zip bomb": ("a.docx", zipped(word__document=bytes(9_000_000)), "oversized", "unpacked"),
    "oversized": ("a.txt", b"x" * 2_000_001, "oversized", "corpus.max_document_bytes"),
    "oversized text": ("a.txt", "é".encode("utf-16") + "…é".encode("utf-16-le") * 499_998,
                       "oversized", "the text has"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE_FILES)
def test_a_broken_file_has_a_reason_and_a_detail(
    store_of: StoreOf, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    key, data, reason, match = WHOLE_FILES[kind]
    result = read_one(store_of({key: data}), key)
    assert isinstance(result.outcome, DocumentError)
    assert (result.doc_id, result.row_index) == (key, -1)
    assert result.outcome.reason == QuarantineReason(reason)
    assert match in result.outcome.detail
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("make", "reason", "match"),
    [
        (scan, QuarantineReason.EMPTY, "run it through OCR"),
        (encrypted, QuarantineReason.ENCRYPTED, "needs a password"),
        (cut_off, QuarantineReason.BROKEN, "cut off"),
    ],
)
def test_a_pdf_that_cannot_be_used(
    store_of: StoreOf,
    pdf_writer: type,
    make: Callable[[type], bytes],
    reason: QuarantineReason,
    match: str,
) -> None:
    outcome = read_one(store_of({"a.pdf": make(pdf_writer)}), "a.pdf").outcome
    assert isinstance(outcome, DocumentError)
    assert outcome.reason is reason
    assert match in outcome.detail


LINES = {
    "bad json": (b'{"doc_id": "a", ', None, "invalid_row"),
    "no object": (b"[1]", None, "invalid_row"),
    "not utf-8": (b'{"doc_id": "\xe9"}', None, "undecodable"),
    "no doc_id": (jsonl({"text": "t"}), None, "invalid_row"),
    "doc_id a number": (jsonl({"doc_id": 1, "text": "t"}), None, "invalid_row"),
    "no text": (jsonl({"doc_id": "a"}), "a", "invalid_row"),
    "blank text": (jsonl({"doc_id": "a", "text": " "}), "a", "empty"),
    "nested": (jsonl({**ROW, "metadata": {"k": {"l": 1}}}), "a", "invalid_row"),
    "nan": (jsonl({**ROW, "metadata": {"k": float("nan")}}), None, "invalid_row"),
    "half a pair": (b'{"doc_id": "a", "text": "\\ud800"}', "a", "invalid_row"),
    "long line": (jsonl({"doc_id": "a", "text": "x" * 2_000_000}), None, "oversized"),
    "row is gone": (b"", None, "unreadable"),
}
TABLES = {
    "null text": (parquet(doc_id=["a", "b"], text=[None, "t"]), "a", "invalid_row"),
    "null doc_id": (parquet(doc_id=[None, "b"], text=["t", "t"]), None, "invalid_row"),
    "no parquet": (b"PAR1", None, "broken"),
    "cut off": (parquet(doc_id=["a"], text=["t"])[:-9], None, "broken"),
    "other columns": (parquet(id=["a"], body=["t"]), None, "invalid_row"),
    "long row": (parquet(doc_id=["a"], text=["x" * 2_000_001]), "a", "oversized"),
}
BAD_ROWS = [
    *(pytest.param("r.jsonl", *case, id=kind) for kind, case in LINES.items()),
    *(pytest.param("r.parquet", *case, id=kind) for kind, case in TABLES.items()),
]


@pytest.mark.parametrize(("key", "data", "doc_id", "reason"), BAD_ROWS)
def test_a_broken_row_has_a_reason_and_a_name(
    store_of: StoreOf, key: str, data: bytes, doc_id: str | None, reason: str
) -> None:
    result = read_one(store_of({key: data}), key, 0)
    assert isinstance(result.outcome, DocumentError)
    assert result.outcome.reason == QuarantineReason(reason)
    assert result.doc_id == (doc_id or f"{key}#0")
    assert result.outcome.detail


def test_a_file_that_breaks_off_fails_only_the_rows_behind(store_of: StoreOf) -> None:
    store = store_of({"r.jsonl": jsonl(ROW)})
    first, second = read_documents(store, "r.jsonl", [0, 1], CONFIG)
    assert isinstance(first.outcome, Document)
    assert isinstance(second.outcome, DocumentError)
    assert second.outcome.reason is QuarantineReason.UNREADABLE


@pytest.mark.parametrize("key", ["a.txt", "a.jsonl"])
def test_a_store_that_fails_makes_documents_unreadable(bucket: type, key: str) -> None:
    result = read_one(bucket({key: b"x"}, frozenset({key})), key, 0 if key == "a.jsonl" else -1)
    assert isinstance(result.outcome, DocumentError)
    assert result.outcome.reason is QuarantineReason.UNREADABLE
    assert "503 slow down" in result.outcome.detail


def test_a_long_message_of_a_parser_is_one_short_line(
    store_of: StoreOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scp_ray.corpus import read
    from scp_ray.corpus.formats import FileFormat

    def parse(_: bytes) -> str:
        raise KeyError("line\n" * 1000 + "\ud800")

    monkeypatch.setattr(read, "FILE_FORMATS", {".pdf": FileFormat(parse)})
    outcome = read_one(store_of({"a.pdf": b"x"}), "a.pdf").outcome
    assert isinstance(outcome, DocumentError)
    assert outcome.reason is QuarantineReason.BROKEN
    assert outcome.detail.startswith("the parser failed: KeyError: ")
    assert len(outcome.detail) <= 300
    assert "\n" not in outcome.detail
