"""The stages of an ablation: prepare the chunks of a variant, embed texts, measure cells.

A row in is a task and a row out its receipt, both as JSON; what is made goes to the store.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from scp_ray import schema
from scp_ray.annotators.factory import make_annotator
from scp_ray.annotators.heuristic import chunk_signature
from scp_ray.config import Settings
from scp_ray.embedding.factory import load_named_tokenizer, load_tokenizer
from scp_ray.embedding.text_windows import text_windows
from scp_ray.errors import AnnotationError
from scp_ray.evaluation.ablation.config import AnnotatorKind, CellSetting, VariantSetting
from scp_ray.evaluation.ablation.measure import RememberedCounts, measure_cell, signature_accuracy
from scp_ray.evaluation.ablation.scoring import ScoredVariant
from scp_ray.evaluation.ablation.signatures import completed, separate, true_annotations
from scp_ray.evaluation.ablation.variant import CutDocument, Prefixer, text_key, variant_table
from scp_ray.evaluation.baselines.chunkers import ChunkMethod, cut_with
from scp_ray.pipeline.ablation_sets import QuestionSet, load_set
from scp_ray.pipeline.ablation_store import AblationStore, Embeddings
from scp_ray.pipeline.planned_encoder import load_planned_encoder
from scp_ray.protocols import Annotator, Encoder, Float32Array
from scp_ray.records import ChunkAnnotation, ChunkSpan
from scp_ray.sections import AnnotatorName, ChunkingConfig
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.storage.manifest import EncoderEntry
from scp_ray.storage.opening import open_store

_CUTTING: Final = {"chunker", "chunk_size_tokens", "overlap_tokens", "cosine_threshold"}


@dataclass(frozen=True, slots=True)
class AblationSite:
    """Where an ablation keeps its pieces, and with what it is made.

    Attributes:
        out: Address of the results.
        settings: Encoder, language model and corpus limits.
        encoder: The encoder.
        num_threads: CPU threads of one encoder.
        num_annotators: Annotators that share the limits of a language model.
    """

    out: str
    settings: Settings
    encoder: EncoderEntry
    num_threads: int
    num_annotators: int

    def open(self) -> AblationStore:
        """Open the store of the results."""
        return AblationStore(open_store(self.out), self.encoder.revision)

    def load_encoder(self) -> Encoder:
        """Load the encoder.

        Raises:
            EncoderError: If the one found here is not the one that the ablation was planned with.
        """
        return load_planned_encoder(
            self.settings.embedding, self.encoder.revision, self.num_threads
        )


def task_table(tasks: Sequence[dict[str, Any]]) -> pa.Table:
    """Return a row a task."""
    rows = [{schema.ENTRY_JSON: json.dumps(task, ensure_ascii=False)} for task in tasks]
    return pa.Table.from_pylist(rows, schema=schema.DESCRIPTION)


def task_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the tasks, or the receipts, of a table."""
    rows: list[Any] = table[schema.ENTRY_JSON].to_pylist()
    return [json.loads(row) for row in rows]


def embed_texts(encoder: Encoder, texts: Sequence[str]) -> Float32Array:
    """Embed texts of any length, shape (n, dim), float32, unit norm.

    A text that is longer than the encoder takes has the normalized mean of the vectors of its
    windows, see ``text_windows``.
    """
    counts = encoder.tokenizer.count_tokens(texts)
    windows = [
        [text] if count <= encoder.max_tokens else _windows(encoder, text)
        for text, count in zip(texts, counts, strict=True)
    ]
    vectors = encoder.encode([window for many in windows for window in many])
    ends = np.cumsum([len(many) for many in windows])
    embedded = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
    for row, (end, many) in enumerate(zip(ends.tolist(), windows, strict=True)):
        mine = vectors[end - len(many) : end]
        embedded[row] = mine[0] if len(many) == 1 else _mean_direction(mine)
    return embedded


class PrepareStage:
    """Cuts and annotates the corpus of a set in one way.

    Args:
        site: Where the pieces are.
    """

    def __init__(self, site: AblationSite) -> None:
        self._site = site
        self._pieces = site.open()
        self._tokenizer = load_tokenizer(site.settings.embedding)
        self._annotators: dict[AnnotatorKind, Annotator] = {}
        self._cuts: dict[tuple[bytes, str], list[ChunkSpan]] = {}

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take tasks ``{key, set, setting}`` and write a variant for each."""
        for task in task_rows(batch):
            setting = VariantSetting.model_validate(task["setting"])
            table = self._variant(load_set(self._pieces.store, task["set"]), setting)
            self._pieces.save_variant(task["key"], table)
            yield task_table([{"key": task["key"], "num_chunks": table.num_rows}])

    def close(self) -> None:
        """End the annotators."""
        for annotator in self._annotators.values():
            annotator.close()

    @cached_property
    def _encoder(self) -> Encoder:
        return self._site.load_encoder()

    def _variant(self, one: QuestionSet, setting: VariantSetting) -> pa.Table:
        texts = list(one.documents.values())
        spans = [self._cut(text, setting) for text in texts]
        if setting.annotator is AnnotatorKind.TRUE_NAME:
            parts = [one.names.get(doc_id, ()) for doc_id in one.documents]
            annotated = [
                true_annotations(mine, names) for mine, names in zip(spans, parts, strict=True)
            ]
        else:
            chunks = [
                [text[span.char_start : span.char_end] for span in mine]
                for text, mine in zip(texts, spans, strict=True)
            ]
            annotated = self._annotated(list(one.documents), chunks, setting)
        if setting.document_fallback:
            annotated = [completed(annotations) for annotations in annotated]
        documents = [
            CutDocument(*document)
            for document in zip(one.documents, texts, spans, annotated, strict=True)
        ]
        prefixer = Prefixer(setting, self._tokenizer, self._site.encoder.max_tokens)
        return variant_table(documents, prefixer)

    def _cut(self, text: str, setting: VariantSetting) -> list[ChunkSpan]:
        """Cut a text; variants that differ in their signatures alone share what comes of it."""
        key = (text_key(text), setting.model_dump_json(include=_CUTTING))
        if key not in self._cuts:
            self._cuts[key] = self._newly_cut(text, setting)
        return self._cuts[key]

    def _newly_cut(self, text: str, setting: VariantSetting) -> list[ChunkSpan]:
        config = ChunkingConfig(
            chunk_size_tokens=setting.chunk_size_tokens, overlap_tokens=setting.overlap_tokens
        )
        needs_vectors = setting.chunker is ChunkMethod.COSINE
        return cut_with(
            setting.chunker,
            text,
            self._tokenizer,
            config,
            embed=partial(embed_texts, self._encoder) if needs_vectors else None,
            threshold=setting.cosine_threshold,
        )

    def _annotated(
        self, doc_ids: list[str], chunks: list[list[str]], setting: VariantSetting
    ) -> list[list[ChunkAnnotation]]:
        """Annotate without a fallback, which is applied to the whole afterwards."""
        if setting.continuity or setting.annotator is AnnotatorKind.NONE:
            return self._asked(doc_ids, chunks, setting.annotator)
        if setting.annotator is AnnotatorKind.HEURISTIC:
            return [separate([chunk_signature(chunk) for chunk in mine]) for mine in chunks]
        alone = [[chunk] for mine in chunks for chunk in mine]
        names = [doc_id for doc_id, mine in zip(doc_ids, chunks, strict=True) for _ in mine]
        cnms = iter([one[0].cnm for one in self._asked(names, alone, setting.annotator)])
        return [separate([next(cnms) for _ in mine]) for mine in chunks]

    def _asked(
        self, doc_ids: list[str], chunks: list[list[str]], kind: AnnotatorKind
    ) -> list[list[ChunkAnnotation]]:
        if kind not in self._annotators:
            self._annotators[kind] = self._annotator(kind)
        documents = self._annotators[kind].annotate(chunks)
        for doc_id, document in zip(doc_ids, documents, strict=True):
            if document.failure is not None:
                message = f"{doc_id}: {document.failure}"
                raise AnnotationError(message)
        return [document.annotations for document in documents]

    def _annotator(self, kind: AnnotatorKind) -> Annotator:
        name = AnnotatorName(kind.value)
        settings = self._site.settings.with_values("chop", annotator=name, document_fallback=False)
        open_cache = partial(StoredAnnotationCache, self._pieces.store)
        return make_annotator(settings, open_cache, self._site.num_annotators)


class EmbedTextsStage:
    """Embeds blocks of texts.

    Args:
        site: Where the pieces are.
    """

    def __init__(self, site: AblationSite) -> None:
        self._pieces = site.open()
        self._encoder = site.load_encoder()

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take tasks ``{texts, is_question}`` and write the vectors of each."""
        for task in task_rows(batch):
            texts, is_question = task["texts"], task["is_question"]
            keys = [text_key(text, is_question=is_question) for text in texts]
            self._pieces.save_embeddings(keys, self._vectors(texts, is_question=is_question))
            yield task_table([{"num_texts": len(texts)}])

    def _vectors(self, texts: list[str], *, is_question: bool) -> Float32Array:
        if not is_question:
            return embed_texts(self._encoder, texts)
        # One at a time, as a query is encoded.
        return np.concatenate([self._encoder.encode_query([text]) for text in texts])


class MeasureStage:
    """Measures cells of one variant.

    Args:
        site: Where the pieces are.
    """

    def __init__(self, site: AblationSite) -> None:
        self._pieces = site.open()
        name, embedding = site.settings.context.tokenizer, site.settings.embedding
        tokenizer = load_named_tokenizer(name) if name else load_tokenizer(embedding)
        self._count_tokens = RememberedCounts(tokenizer)
        self._loaded: tuple[str, QuestionSet, ScoredVariant] | None = None

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take tasks ``{set, variant, cells: [{key, setting}]}`` and write each cell."""
        for task in task_rows(batch):
            one, scored = self._scored(task["set"], task["variant"])
            accuracy = signature_accuracy(scored.variant, one.names)
            for cell in task["cells"]:
                setting = CellSetting.model_validate(cell["setting"])
                values = measure_cell(scored, one.queries, setting, self._count_tokens)
                measured = {
                    "query_ids": [query.query_id for query in one.queries],
                    "num_chunks": len(scored.variant.texts),
                    "signature_accuracy": accuracy,
                    "values": values,
                }
                self._pieces.save_cell(cell["key"], measured)
            yield task_table([{"num_cells": len(task["cells"])}])

    @cached_property
    def _embeddings(self) -> Embeddings:
        return self._pieces.load_embeddings()

    def _scored(self, fingerprint: str, key: str) -> tuple[QuestionSet, ScoredVariant]:
        if self._loaded is None or self._loaded[0] != key:
            one = load_set(self._pieces.store, fingerprint)
            variant = self._pieces.load_variant(key)
            questions = [query.query for query in one.queries]
            vectors = self._embeddings.of([text_key(text) for text in variant.embedding_texts])
            asked = self._embeddings.of([text_key(text, is_question=True) for text in questions])
            self._loaded = (key, one, ScoredVariant(variant, vectors, questions, asked))
        return self._loaded[1], self._loaded[2]


def _windows(encoder: Encoder, text: str) -> list[str]:
    return text_windows(text, encoder.max_tokens, encoder.tokenizer)


def _mean_direction(vectors: Float32Array) -> Float32Array:
    mean = vectors.astype(np.float64).mean(axis=0)
    direction: Float32Array = (mean / np.linalg.norm(mean)).astype(np.float32)
    return direction
