"""Stores and files that the corpus tests read: a folder, a bucket-like store, PDFs and DOCX."""

import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import docx
import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas
from reportlab.platypus import Table, TableStyle

from scp_ray.errors import ObjectNotFoundError, TransientStorageError
from scp_ray.protocols import ObjectStore, StoredObject

StoreOf = Callable[[Mapping[str, bytes]], ObjectStore]


class BucketStore:
    """Objects in memory that have no path, as on S3; ``broken`` keys fail when they are read."""

    url = "s3://manuals/corpus/"

    def __init__(self, objects: Mapping[str, bytes], broken: frozenset[str] = frozenset()) -> None:
        self.objects = dict(objects)
        self.broken = broken

    def read(self, key: str) -> bytes:
        """Return the bytes of an object."""
        if key in self.broken:
            message = "503 slow down"
            raise TransientStorageError(message)
        if key not in self.objects:
            raise ObjectNotFoundError(key)
        return self.objects[key]

    def local_path(self, key: str) -> Path | None:
        """Return None: there are no paths."""
        return None

    def download(self, key: str, path: Path) -> None:
        """Write an object to a file."""
        path.write_bytes(self.read(key))

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects, in an order that nothing may rely on."""
        for key in sorted(self.objects, reverse=True):
            if key.startswith(prefix):
                yield StoredObject(key, len(self.objects[key]), "1")


class FolderStore(BucketStore):
    """The same objects as files of a folder."""

    def __init__(self, folder: Path, objects: Mapping[str, bytes]) -> None:
        super().__init__(objects)
        self.url = str(folder)
        self.folder = folder
        for key, data in objects.items():
            path = folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def read(self, key: str) -> bytes:
        """Return the bytes of a file."""
        return (self.folder / key).read_bytes()

    def local_path(self, key: str) -> Path | None:
        """Return the path of a file."""
        return self.folder / key


@pytest.fixture(params=["folder", "bucket"])
def store_of(request: pytest.FixtureRequest, tmp_path: Path) -> StoreOf:
    """Make a store of files, once as a folder and once as a bucket."""

    def make(objects: Mapping[str, bytes]) -> ObjectStore:
        if request.param == "folder":
            return FolderStore(tmp_path / "corpus", objects)
        return BucketStore(objects)

    return make


@pytest.fixture
def bucket() -> type[BucketStore]:
    """The store class without local paths, for tests that break it."""
    return BucketStore


@pytest.fixture
def docx_of() -> Callable[[Callable[[docx.document.Document], None]], bytes]:
    """Make a DOCX file of what a function writes into it."""

    def make(write: Callable[[docx.document.Document], None]) -> bytes:
        document = docx.Document()
        write(document)
        buffer = io.BytesIO()
        document.save(buffer)
        return buffer.getvalue()

    return make


class PdfWriter:
    """A PDF page by page, top down."""

    def __init__(self, encrypt: str | None = None) -> None:
        self.buffer = io.BytesIO()
        self.canvas = canvas.Canvas(self.buffer, pagesize=A4, encrypt=encrypt)
        self.y = 60.0

    def text(self, text: str, size: float = 10, x: float = 60, gap: float = 0) -> "PdfWriter":
        """Write one line below the last one."""
        self.y += gap + size * 1.2
        return self.at(text, self.y, size, x)

    def at(self, text: str, y: float, size: float = 8, x: float = 60) -> "PdfWriter":
        """Write one line at a distance from the top."""
        self.canvas.setFont("Helvetica", size)
        self.canvas.drawString(x, A4[1] - y, text)
        return self

    def table(self, rows: list[list[str]]) -> "PdfWriter":
        """Draw a ruled table."""
        table = Table(rows)
        table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)]))
        _, height = table.wrapOn(self.canvas, 400, 400)
        self.y += height + 10
        table.drawOn(self.canvas, 60, A4[1] - self.y)
        return self

    def next_page(self) -> "PdfWriter":
        """Begin a page."""
        self.canvas.showPage()
        self.y = 60.0
        return self

    def data(self) -> bytes:
        """Finish the file."""
        self.canvas.save()
        return self.buffer.getvalue()


@pytest.fixture
def pdf_writer() -> type[PdfWriter]:
    """Make a PDF."""
    return PdfWriter
