"""Word files (.docx) to Markdown.

Headings, lists, tables, foot- and endnotes and the text of links are kept; pictures, comments and
the running headers and footers of pages are not part of the text.
"""

import zipfile
from io import BytesIO
from typing import TYPE_CHECKING

from scp_ray.corpus.markdown import soup_to_markdown
from scp_ray.errors import DocumentError, QuarantineReason

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_OLE_MAGIC = bytes.fromhex("d0cf11e0")
_OLD_WORD_STREAM = "WordDocument".encode("utf-16-le")
_ENCRYPTED_FLAG = 0x1
_STYLE_MAP = "p[style-name='Title'] => h1.title:fresh"
_LOWEST_HEADING = 5  # that has one below it


def unpacked_bytes(data: bytes) -> int:
    """Return the size of all parts when unpacked, without unpacking them.

    Raises:
        DocumentError: ENCRYPTED if a password is needed, BROKEN if it is not a .docx file.
    """
    if data.startswith(_OLE_MAGIC):
        if _OLD_WORD_STREAM in data:
            detail = "an old Word file (.doc); save it as .docx"
            raise DocumentError(QuarantineReason.BROKEN, detail)
        detail = "needs a password; save a copy without one"
        raise DocumentError(QuarantineReason.ENCRYPTED, detail)
    try:
        with zipfile.ZipFile(BytesIO(data)) as parts:
            infos = parts.infolist()
    except zipfile.BadZipFile as error:
        detail = f"not a .docx file, or cut off: {error}"
        raise DocumentError(QuarantineReason.BROKEN, detail) from error
    if any(info.flag_bits & _ENCRYPTED_FLAG for info in infos):
        detail = "its parts need a password; save a copy without one"
        raise DocumentError(QuarantineReason.ENCRYPTED, detail)
    return sum(info.file_size for info in infos)


def parse_docx(data: bytes) -> str:
    """Return the text of a Word file as Markdown.

    The Title style is the first-level heading; where it is used, Heading 1 is the second level.

    Raises:
        Exception: Whatever mammoth raises on a broken file.
    """
    import mammoth
    from bs4 import BeautifulSoup

    result = mammoth.convert_to_html(
        BytesIO(data),
        style_map=_STYLE_MAP,
        include_embedded_style_map=False,
        convert_image=mammoth.images.img_element(lambda _: {}),
    )
    soup = BeautifulSoup(result.value, "html.parser")
    if soup.select("h1.title"):
        _lower_headings(soup)
    return soup_to_markdown(soup)


def _lower_headings(soup: "BeautifulSoup") -> None:
    for level in range(_LOWEST_HEADING, 0, -1):
        for heading in soup.select(f"h{level}:not(.title)"):
            heading.name = f"h{level + 1}"
