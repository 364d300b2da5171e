"""Token windows. Their laws are in tests/property/test_chunker.py."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from scp_ray.corpus.chunker import check_budgets, chunk_spans
from scp_ray.errors import ConfigError, DocumentError, QuarantineReason
from scp_ray.protocols import Int64Array
from scp_ray.records import ChunkSpan
from scp_ray.sections import ChunkingConfig

CONFIG = ChunkingConfig(chunk_size_tokens=8, overlap_tokens=2, prefix_budget_tokens=4)


class WordTokenizer:
    """Words between blanks, and a record of what was asked."""

    def __init__(self) -> None:
        self.placed: list[int] = []
        self.counted: list[list[int]] = []

    def token_offsets(self, text: str) -> Int64Array:
        self.placed.append(len(text))
        spans = [match.span() for match in re.finditer(r"\S+", text)]
        return np.array(spans, dtype=np.int64).reshape(-1, 2)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.counted.append([len(text) for text in texts])
        return [len(text.split()) for text in texts]


class BlankTokenizer(WordTokenizer):
    """The same words of an ASCII text, fast, for texts of many megabytes."""

    def token_offsets(self, text: str) -> Int64Array:
        self.placed.append(len(text))
        is_word = np.concatenate([[0], np.frombuffer(text.encode(), np.uint8) > 32, [0]])
        edges = np.flatnonzero(np.diff(is_word.astype(np.int8)))
        return edges.reshape(-1, 2).astype(np.int64)


class ByteTokenizer(WordTokenizer):
    """One token a UTF-8 byte, so that several tokens share a character."""

    def token_offsets(self, text: str) -> Int64Array:
        spans = [(i, i + 1) for i, c in enumerate(text) for _ in c.encode()]
        return np.array(spans, dtype=np.int64)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.encode()) for text in texts]


def test_windows_share_their_overlap() -> None:
    text = "  " + " ".join("abcdefghijklmnopqrst") + " \r\n"
    spans = chunk_spans(text, WordTokenizer(), CONFIG, 100)
    assert [text[span.char_start : span.char_end] for span in spans] == [
        "a b c d e f g h",
        "g h i j k l m n",
        "m n o p q r s t",
    ]
    assert [span.num_tokens for span in spans] == [8, 8, 8]


def test_the_last_window_may_be_shorter() -> None:
    spans = chunk_spans(" ".join("abcdefghi"), WordTokenizer(), CONFIG, 100)
    assert spans == [ChunkSpan(0, 15, 8), ChunkSpan(12, 17, 3)]


@pytest.mark.parametrize("num_words", [1, 7, 8])
def test_a_short_text_is_one_chunk(num_words: int) -> None:
    text = " ".join(["word"] * num_words)
    assert chunk_spans(text, WordTokenizer(), CONFIG, 100) == [ChunkSpan(0, len(text), num_words)]


def test_offsets_count_code_points_and_carriage_returns() -> None:
    text = "\U0001f600 Größe\r\ncafe\u0301 \u2028 Ende\r\n"
    (span,) = chunk_spans(text, WordTokenizer(), CONFIG, 100)
    assert text[span.char_start : span.char_end] == text.strip()
    assert span.char_end == len(text) - 2


def test_tokens_are_counted_on_the_chunk_alone() -> None:
    class Pieces(WordTokenizer):
        def token_offsets(self, text: str) -> Int64Array:  # four characters each, also in words
            return np.array([(i, min(i + 4, len(text))) for i in range(0, len(text), 4)])

    spans = chunk_spans("aa bb cc dd " * 4, Pieces(), CONFIG, 100)
    assert [span.num_tokens for span in spans] == [11, 8]


def test_no_chunk_lies_inside_the_one_before_where_tokens_share_a_character() -> None:
    config = ChunkingConfig(chunk_size_tokens=8, overlap_tokens=7, prefix_budget_tokens=0)
    spans = chunk_spans("abcdef\U0001f600\U0001f600", ByteTokenizer(), config, 100)
    ends = [span.char_end for span in spans]
    assert ends == sorted(set(ends))
    assert ends[-1] == 8


def test_a_text_without_a_token_is_empty() -> None:
    with pytest.raises(DocumentError, match="empty: the text has no token") as caught:
        chunk_spans(" \n", WordTokenizer(), CONFIG, 100)
    assert caught.value.reason is QuarantineReason.EMPTY


def test_a_chunk_too_long_on_its_own_is_named() -> None:
    text = " ".join("abcdefghijklmn")
    with pytest.raises(
        DocumentError, match=r"chunk 0 \(characters 0 to 15\) has 8 tokens"
    ) as caught:
        chunk_spans(text, WordTokenizer(), CONFIG, 7)
    assert caught.value.reason is QuarantineReason.CHUNK_TOO_LONG


def test_budgets_that_fit_pass() -> None:
    check_budgets(CONFIG, 12)


def test_budgets_that_do_not_fit_are_named() -> None:
    match = r"chunk_size_tokens \(8\) and .*prefix_budget_tokens \(4\) make 12 .* takes 11"
    with pytest.raises(ConfigError, match=match):
        check_budgets(CONFIG, 11)


@pytest.mark.parametrize("num_words", [2_000, 4_000, 8_000])
def test_work_grows_with_the_text_and_batches_do_not(num_words: int) -> None:
    tokenizer = WordTokenizer()
    text = "word " * num_words
    chunk_spans(text, tokenizer, CONFIG, 100)
    assert tokenizer.placed == [len(text)]
    assert sum(map(sum, tokenizer.counted)) <= 8 / 6 * len(text) + 8 * 5
    assert max(map(sum, tokenizer.counted)) <= 256 * 8 * 5


def test_twenty_megabytes() -> None:
    tokenizer = BlankTokenizer()
    text = "Hold the START button for 5 s. " * 650_000
    config = ChunkingConfig()
    spans = chunk_spans(text, tokenizer, config, 254)
    assert len(text) > 20_000_000
    assert len(spans) == -(-(7 * 650_000 - 50) // 150)
    assert (spans[0].char_start, spans[-1].char_end) == (0, len(text) - 1)
    assert sum(map(sum, tokenizer.counted)) <= 1.34 * len(text)
    assert max(map(sum, tokenizer.counted)) < 300_000
