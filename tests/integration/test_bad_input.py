"""A folder with every kind of broken file: the good ones are searchable, the rest is explained."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def _pdf(text: str, password: str | None = None) -> bytes:
    sink = io.BytesIO()
    encrypt = StandardEncryption(password, canPrint=0) if password else None
    canvas = Canvas(sink, encrypt=encrypt)
    if text:
        canvas.drawString(100, 700, text)
    canvas.showPage()
    canvas.save()
    return sink.getvalue()


def _zip(**parts: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return sink.getvalue()


def _parquet(**columns: list[object]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def _broken_files() -> dict[str, tuple[bytes, str]]:
    """Return content and expected reason of each broken file."""
    good_row = {"doc_id": "good-row", "text": "The good row is about hinges. " * 20}
    rows = [good_row, {"text": "no id"}, {"doc_id": "x"}, {"doc_id": "y", "text": 7}]
    lines = [*map(json.dumps, rows), "{not json", '{"doc_id": "z", "text": ""}']
    return {
        "empty.md": (b"", "empty"),
        "spaces.txt": (b" \n\t \n", "empty"),
        "marks.md": (b"--- *** ---\n", "empty"),
        "binary.txt": (bytes(range(256)) * 20, "undecodable"),
        "mixed.md": ("Grüße aus ".encode() * 9 + b"\xff\xfe\x80" * 9, "undecodable"),
        "empty.html": (b"<html><body><script>x</script></body></html>", "empty"),
        "text.pdf": (b"this is not a PDF at all", "broken"),
        "cut.pdf": (_pdf("some text")[:300], "broken"),
        "locked.pdf": (_pdf("secret", password="pw"), "encrypted"),
        "scan.pdf": (_pdf(""), "empty"),
        "text.docx": (b"this is not a zip", "broken"),
        "other.docx": (_zip(**{"readme.txt": b"hello"}), "broken"),
        "locked.docx": (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, "encrypted"),
        "bomb.docx": (_zip(**{"word/document.xml": b" " * 3_000_000}), "oversized"),
        "huge.md": (b"word " * 500_000, "oversized"),
        "rows.jsonl": ("\n".join(lines).encode(), "invalid_row"),
        "cut.parquet": (_parquet(doc_id=["a"], text=["t"])[:-9], "broken"),
        "other.parquet": (_parquet(id=["a"], body=["t"]), "invalid_row"),
        "null.parquet": (_parquet(doc_id=["n"], text=pa.array([None], pa.string())), "invalid_row"),
    }


def _scp_ray(*argv: str) -> subprocess.CompletedProcess[str]:
    ray.shutdown()
    command = [sys.executable, "-m", "scp_ray.cli", *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_broken_files_are_explained_and_the_rest_is_found(corpus: Path, tmp_path: Path) -> None:
    broken = _broken_files()
    assert len(broken) >= 15
    for name, (data, _) in broken.items():
        (corpus / name).write_bytes(data)
    (corpus / "photo.jpg").write_bytes(b"\xff\xd8")
    index = str(tmp_path / "index")
    settings = ["--set", "embedding.model=hash://32", "--set", "corpus.max_document_bytes=2000000"]
    done = _scp_ray("index", str(corpus), index, "--json", *settings)
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert report["status"] == "partial"
    assert report["documents"]["published"] == 13
    assert report["skipped_files"] == ["photo.jpg"]
    for name, (_, reason) in broken.items():
        found = [
            failure["reason"]
            for failure in report["quarantined"]
            if failure["doc_id"].startswith(name) or (name, failure["doc_id"]) in _OWN_NAMES
        ]
        assert reason in found, (name, found)
    assert all(len(failure["detail"]) > 10 for failure in report["quarantined"])
    answer = _scp_ray("query", index, "The good row is about hinges", "--top-k", "1", "--json")
    assert json.loads(answer.stdout)["results"][0]["doc_id"] == "good-row"


_OWN_NAMES = {("rows.jsonl", "x"), ("rows.jsonl", "y"), ("null.parquet", "n")}
