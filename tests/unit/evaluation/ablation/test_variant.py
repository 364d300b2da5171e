"""Chunks with their prefixes, as a table and back."""

from collections.abc import Callable

import numpy as np

from scp_ray.embedding.hash_encoder import WordTokenizer
from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.variant import (
    CutDocument,
    Prefixer,
    Variant,
    text_key,
    variant_table,
)
from scp_ray.records import ChunkAnnotation, ChunkSpan, Cnm

CNM = Cnm("kettle", ("kettle lid",), "Orbis K-1")  # nine tokens with the break


def _document(doc_id: str, *chunks: str) -> CutDocument:
    text, spans = "", []
    for chunk in chunks:
        (count,) = WordTokenizer().count_tokens([chunk])
        spans.append(ChunkSpan(len(text), len(text) + len(chunk), count))
        text += chunk
    annotations = [ChunkAnnotation(CNM, starts_span=not row) for row in range(len(chunks))]
    return CutDocument(doc_id, text, spans, annotations)


def _prefixer(setting: CellSetting, max_tokens: int = 20) -> Prefixer:
    return Prefixer(setting.variant, WordTokenizer(), max_tokens)


def test_rows_are_sorted_and_come_back(setting: Callable[..., CellSetting]) -> None:
    documents = [_document("b", "fill the tank"), _document("a", "lift ", "the lid")]
    variant = Variant.from_table(variant_table(documents, _prefixer(setting())))
    assert variant.doc_ids == ["a", "a", "b"]
    assert variant.texts == ["lift ", "the lid", "fill the tank"]
    assert list(zip(variant.char_starts, variant.char_ends, strict=True)) == [
        (0, 5),
        (5, 12),
        (0, 13),
    ]
    assert variant.embedding_texts[1] == "Orbis K-1 kettle kettle lid\nthe lid"
    assert variant.models == ["Orbis K-1"] * 3
    np.testing.assert_array_equal(variant.positions, [0.0, 1.0, 0.5])
    np.testing.assert_array_equal(variant.documents, [0, 0, 1])


def test_a_prefix_has_the_room_that_its_chunk_leaves(setting: Callable[..., CellSetting]) -> None:
    full, crowded = "lid " * 8, "lid " * 16
    prefixes = _prefixer(setting()).prefixes(_document("a", full, crowded))
    assert prefixes == ["Orbis K-1 kettle kettle lid", "Orbis K-1"]


def test_a_chunk_for_several_windows_has_the_whole_prefix(
    setting: Callable[..., CellSetting],
) -> None:
    assert _prefixer(setting()).prefixes(_document("a", "lid " * 50)) == [
        "Orbis K-1 kettle kettle lid"
    ]


def test_no_part_of_the_prefix_is_no_prefix(setting: Callable[..., CellSetting]) -> None:
    assert _prefixer(setting(prefix_parts=[])).prefixes(_document("a", "the lid")) == [""]


def test_a_question_is_not_the_text_of_the_same_words() -> None:
    assert len(text_key("lid")) == 16
    assert len({text_key("lid"), text_key("lid", is_question=True), text_key("lids")}) == 3
