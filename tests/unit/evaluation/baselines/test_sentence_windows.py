"""Sentences that fit, and windows of them. Their laws are in tests/property."""

from collections.abc import Sequence

import numpy as np
import pytest

from scp_ray.embedding.hash_encoder import WordTokenizer
from scp_ray.errors import DocumentError
from scp_ray.evaluation.baselines.sentence_windows import (
    SentenceWindows,
    Stretch,
    fitting_sentences,
)
from scp_ray.protocols import Int64Array
from scp_ray.records import ChunkSpan
from scp_ray.sections import ChunkingConfig

TOKENIZER = WordTokenizer()


class ByteTokenizer(WordTokenizer):
    """One token a UTF-8 byte, so that several tokens share a character."""

    def token_offsets(self, text: str) -> Int64Array:
        spans = [(i, i + 1) for i, c in enumerate(text) for _ in c.encode()]
        return np.array(spans, dtype=np.int64).reshape(-1, 2)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.encode()) for text in texts]


class LettersOnly(WordTokenizer):
    """Sees no other characters than letters."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [sum(map(str.isalpha, text)) for text in texts]


def shown(text: str, spans: list[ChunkSpan]) -> list[tuple[str, int]]:
    return [(text[one.char_start : one.char_end], one.num_tokens) for one in spans]


def test_long_sentences_are_cut_by_tokens() -> None:
    text = "One two. A b c d e f g h i j. End."
    assert shown(text, fitting_sentences(text, TOKENIZER, 8)) == [
        ("One two.", 3),
        ("A b c d e f g h", 8),
        ("i j.", 3),
        ("End.", 2),
    ]


def test_tokens_of_one_character_stay_together() -> None:
    text = "電電電"
    assert shown(text, fitting_sentences(text, ByteTokenizer(), 8)) == [("電電", 6), ("電", 3)]


def test_a_token_that_is_too_long_alone_refuses_the_text() -> None:
    with pytest.raises(DocumentError, match="one token of the text has 3 alone, more than 2"):
        fitting_sentences("電電", ByteTokenizer(), 2)


def test_what_has_no_token_goes_with_its_neighbour() -> None:
    text = "12! 3! Ab. 45! Cd. 6!"
    assert shown(text, fitting_sentences(text, LettersOnly(), 8)) == [
        ("12! 3! Ab. 45!", 2),
        ("Cd. 6!", 2),
    ]


def test_a_text_without_a_token_is_empty() -> None:
    with pytest.raises(DocumentError, match="the text has no token"):
        fitting_sentences(" \n ", TOKENIZER, 8)


def windows(text: str, overlap: int, *stretches: Stretch) -> list[str]:
    config = ChunkingConfig(chunk_size_tokens=8, overlap_tokens=overlap)
    sentences = fitting_sentences(text, TOKENIZER, 8)
    made = SentenceWindows(text, sentences, TOKENIZER, config).within(
        stretches or [Stretch(0, len(sentences))]
    )
    return [text[one.char_start : one.char_end] for one in made]


def test_windows_take_what_fits_and_begin_with_the_end_of_the_one_before() -> None:
    text = "A b. C d. E f. G h. I j."
    assert windows(text, 0) == ["A b. C d.", "E f. G h.", "I j."]
    assert windows(text, 3) == ["A b. C d.", "C d. E f.", "E f. G h.", "G h. I j."]


def test_overlap_gives_way_to_a_new_sentence() -> None:
    text = "A b. C d e f g h. I j."
    assert windows(text, 5) == ["A b.", "C d e f g h.", "I j."]


def test_windows_stay_within_their_stretches() -> None:
    text = "A b. C d. E f. G h."
    assert windows(text, 3, Stretch(0, 1), Stretch(1, 4)) == ["A b.", "C d. E f.", "E f. G h."]
