"""The heuristic annotator: deterministic, no model, from the text alone.

It reads a document as a whole: the chunks are put together again (``rejoin``), lines that may be
titles or headings are found (``lines``), and from them the products (``products``) and the
sections (``sections``) that the text is about. A chunk's signature is the product in force at its
middle and the headings of the section that most of it is in. A span ends where either changes.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from scp_ray.annotators.lines import read_lines
from scp_ray.annotators.names import name_key
from scp_ray.annotators.products import Product, find_products
from scp_ray.annotators.rejoin import rejoin
from scp_ray.annotators.sections import Section, main_section, read_sections, section_headings
from scp_ray.chop.annotate import fold, span_starts
from scp_ray.chop.parsing import MAX_FIELD_CHARACTERS
from scp_ray.records import EMPTY_CNM, ChunkAnnotation, Cnm

HEURISTIC_REVISION = "heuristic-1"
"""Changes whenever the same text could get another annotation."""

_NUMBERING = re.compile(r"^\d{1,2}(?:\.\d+)*[.)]?\s+(?=\D)")
_MAX_NOUN_CHARACTERS = 60


class HeuristicAnnotator:
    """Annotates documents by their titles, headings and names; see the module. Stateless."""

    def __init__(self, *, document_fallback: bool) -> None:
        """Set whether missing fields are taken from the document's first span, see ``fold``."""
        self._document_fallback = document_fallback

    def annotate(self, chunks: Sequence[str]) -> list[ChunkAnnotation]:
        """Annotate the chunks of one document, in chunk order, in time linear in their length."""
        if not chunks:
            return []
        cnms = _read_cnms(chunks, decided_at=0.5)
        decisions = [cnm == after for cnm, after in pairwise(cnms)]
        starts = {start: cnms[start] for start in span_starts(decisions)}
        return fold(decisions, starts, document_fallback=self._document_fallback)


def chunk_signature(chunk: str) -> Cnm:
    """Return the signature of a chunk that stands alone; a title anywhere in it counts."""
    return _read_cnms([chunk], decided_at=1.0)[0]


def _read_cnms(chunks: Sequence[str], *, decided_at: float) -> list[Cnm]:
    """Return the signature of each chunk.

    ``decided_at`` is the place in a chunk, 0 its start and 1 its end, whose product it gets.
    """
    rejoined = rejoin(chunks)
    lines = read_lines(rejoined.text)
    headings = section_headings(rejoined.text, lines)
    products = find_products(rejoined.text, lines, headings)
    starts = [product.char_start for product in products]
    sections = read_sections(headings, starts)
    cnms: list[Cnm] = []
    for start, end in rejoined.spans:
        place = start + int((end - start) * decided_at)
        index = bisect_right(starts, place) - 1
        product = products[index] if index >= 0 else None
        cnms.append(_cnm(product, main_section(sections, (start, end))))
    return cnms


def _cnm(product: Product | None, section: Section | None) -> Cnm:
    nouns = _nouns(section, product) if section else ()
    if product is None:
        return Cnm(nouns=nouns) if nouns else EMPTY_CNM
    return Cnm(
        _shortened(product.category or "", MAX_FIELD_CHARACTERS) or None,
        nouns,
        _shortened(product.model, MAX_FIELD_CHARACTERS) or None,
    )


def _nouns(section: Section, product: Product | None) -> tuple[str, ...]:
    """Return the highest and the lowest heading over a section, without the product's name."""
    name = name_key(product.model) if product else ()
    nouns = [
        _shortened(_NUMBERING.sub("", text, count=1), _MAX_NOUN_CHARACTERS) for text in section.path
    ]
    kept = [noun for noun in nouns if noun and name_key(noun) != name]
    return tuple(dict.fromkeys([*kept[:1], *kept[-1:]]))


def _shortened(text: str, max_characters: int) -> str:
    """Return the words that fit, without what cannot be printed."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    folded = " ".join(printable.split())
    if len(folded) <= max_characters:
        return folded
    return folded[: max_characters + 1].rpartition(" ")[0]
