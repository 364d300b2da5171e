"""One way to cut and annotate a corpus: its chunks, and what is embedded of them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from scp_ray import schema
from scp_ray.chop.prefix import embedding_text
from scp_ray.chop.prefix_writer import PrefixWriter
from scp_ray.evaluation.ablation.config import VariantSetting
from scp_ray.evaluation.ablation.signatures import shown
from scp_ray.protocols import Float64Array, Int64Array, Tokenizer
from scp_ray.records import ChunkAnnotation, ChunkSpan
from scp_ray.retrieval.positional_code import position

_KEY_BYTES: Final = 16

VARIANT_SCHEMA: Final = pa.schema(
    [field for field in schema.chunks_schema(1) if field.name != schema.EMBEDDING]
)
"""A chunk a row, sorted by doc_id and chunk_index; as the index keeps them, without vectors."""


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document with its chunks and their signatures.

    Attributes:
        doc_id: The document.
        text: All of it.
        spans: Its chunks.
        annotations: One a chunk.
    """

    doc_id: str
    text: str
    spans: Sequence[ChunkSpan]
    annotations: Sequence[ChunkAnnotation]

    @property
    def chunk_texts(self) -> list[str]:
        """Text of each chunk."""
        return [self.text[span.char_start : span.char_end] for span in self.spans]


class Prefixer:
    """Writes the prefixes of a variant, as the embedding stage does.

    Args:
        setting: Says what the prefix shows, and its budget.
        tokenizer: The encoder's.
        max_tokens: Most tokens that the encoder takes.
    """

    def __init__(self, setting: VariantSetting, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._setting = setting
        self._writer = PrefixWriter(tokenizer, max_tokens, setting.prefix_budget_tokens)

    def prefixes(self, document: CutDocument) -> list[str]:
        """Return the prefix of each chunk, in the room that the chunk leaves."""
        cnms = [shown(annotation.cnm, self._setting) for annotation in document.annotations]
        return self._writer.write(document.chunk_texts, document.spans, cnms).prefixes


def variant_table(documents: Iterable[CutDocument], prefixer: Prefixer) -> pa.Table:
    """Return the chunks of documents, schema ``VARIANT_SCHEMA``."""
    rows = [
        row
        for document in sorted(documents, key=lambda document: document.doc_id)
        for row in _rows(document, prefixer.prefixes(document))
    ]
    return pa.Table.from_pylist(rows, schema=VARIANT_SCHEMA)


@dataclass(frozen=True, eq=False)
class Variant:
    """The chunks of a variant by row, sorted by doc_id and chunk_index.

    Attributes:
        doc_ids: Document of each.
        chunk_index: Place of each in its document, shape (n,).
        num_chunks: Chunks of the document of each, shape (n,).
        char_starts: First code point of each.
        char_ends: One past the last.
        texts: The chunks.
        prefixes: What stands in front of each; empty if nothing.
        models: Model of each one's signature; None where there is none.
    """

    doc_ids: list[str]
    chunk_index: Int64Array
    num_chunks: Int64Array
    char_starts: list[int]
    char_ends: list[int]
    texts: list[str]
    prefixes: list[str]
    models: list[str | None]

    @classmethod
    def from_table(cls, table: pa.Table) -> "Variant":
        """Take the rows of ``variant_table``."""
        columns: dict[str, list[Any]] = {
            name: table[name].to_pylist() for name in table.schema.names
        }
        return cls(
            columns[schema.DOC_ID],
            np.array(columns[schema.CHUNK_INDEX], dtype=np.int64),
            np.array(columns[schema.NUM_CHUNKS], dtype=np.int64),
            columns[schema.CHAR_START],
            columns[schema.CHAR_END],
            columns[schema.TEXT],
            columns[schema.PREFIX],
            columns[schema.CNM_MODEL],
        )

    @cached_property
    def embedding_texts(self) -> list[str]:
        """What is embedded, and what the words are of: the prefix and the chunk."""
        pairs = zip(self.prefixes, self.texts, strict=True)
        return [embedding_text(prefix, text) for prefix, text in pairs]

    @cached_property
    def positions(self) -> Float64Array:
        """Position of each chunk in its document, in [0, 1], shape (n,)."""
        return position(self.chunk_index, self.num_chunks)

    @cached_property
    def documents(self) -> Int64Array:
        """Number of the document of each chunk, from 0 in the order of rows, shape (n,)."""
        is_first = self.chunk_index == 0
        return np.cumsum(is_first) - 1


def text_key(text: str, *, is_question: bool = False) -> bytes:
    """Name a text among embeddings, by 16 bytes; questions may be embedded in another way."""
    kind = b"question\n" if is_question else b"text\n"
    digest = hashlib.sha256(kind + text.encode("utf-8", "surrogatepass"))
    return digest.digest()[:_KEY_BYTES]


def _rows(document: CutDocument, prefixes: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            schema.DOC_ID: document.doc_id,
            schema.CHUNK_INDEX: chunk_index,
            schema.NUM_CHUNKS: len(document.spans),
            schema.CHAR_START: span.char_start,
            schema.CHAR_END: span.char_end,
            schema.NUM_TOKENS: span.num_tokens,
            schema.TEXT: document.text[span.char_start : span.char_end],
            schema.PREFIX: prefix,
            schema.CNM_CATEGORY: annotation.cnm.category,
            schema.CNM_NOUNS: list(annotation.cnm.nouns),
            schema.CNM_MODEL: annotation.cnm.model,
            schema.STARTS_SPAN: annotation.starts_span,
        }
        for chunk_index, (span, annotation, prefix) in enumerate(
            zip(document.spans, document.annotations, prefixes, strict=True)
        )
    ]
