"""Laws of the chunker, for any text and any sizes."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.corpus.chunker import chunk_spans
from scp_ray.protocols import Int64Array
from scp_ray.records import ChunkSpan
from scp_ray.sections import ChunkingConfig

MAX_TOKENS = 1000


class PieceTokenizer:
    """Pieces of up to four characters of words and single other characters, as in WordPiece."""

    def token_offsets(self, text: str) -> Int64Array:
        spans = [match.span() for match in re.finditer(r"\w{1,4}|[^\w\s]", text)]
        return np.array(spans, dtype=np.int64).reshape(-1, 2)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self.token_offsets(text)) for text in texts]


TOKENIZER = PieceTokenizer()


@st.composite
def configs(draw: st.DrawFn) -> ChunkingConfig:
    size = draw(st.integers(8, 24))
    overlap = draw(st.integers(0, size - 1))
    return ChunkingConfig(chunk_size_tokens=size, overlap_tokens=overlap)


ALPHABET = st.sampled_from("abcxyzÄ9_ .-\n\r\t\u00a0\u2028é\u0301電\U0001f600")
TEXTS = st.text(ALPHABET, max_size=400).filter(lambda text: len(TOKENIZER.token_offsets(text)) > 0)


def windows(text: str, config: ChunkingConfig) -> tuple[list[ChunkSpan], list[list[int]]]:
    """Return the spans and, for each, which tokens of the document lie in it."""
    spans = chunk_spans(text, TOKENIZER, config, MAX_TOKENS)
    offsets = TOKENIZER.token_offsets(text).tolist()
    tokens = [
        [i for i, (a, b) in enumerate(offsets) if a >= span.char_start and b <= span.char_end]
        for span in spans
    ]
    return spans, tokens


@given(TEXTS, configs())
def test_every_token_is_covered_in_order(text: str, config: ChunkingConfig) -> None:
    _, tokens = windows(text, config)
    num_tokens = len(TOKENIZER.token_offsets(text))
    assert sorted({token for window in tokens for token in window}) == list(range(num_tokens))
    assert all(window == list(range(window[0], window[-1] + 1)) for window in tokens)


@given(TEXTS, configs())
def test_size_and_overlap_are_exact(text: str, config: ChunkingConfig) -> None:
    _, tokens = windows(text, config)
    assert all(len(window) == config.chunk_size_tokens for window in tokens[:-1])
    assert 1 <= len(tokens[-1]) <= config.chunk_size_tokens
    for window, following in pairwise(tokens):
        assert len(set(window) & set(following)) == config.overlap_tokens
        assert following[-1] > window[-1]


@given(TEXTS, configs())
def test_spans_are_half_open_monotone_and_begin_and_end_at_tokens(
    text: str, config: ChunkingConfig
) -> None:
    spans, _ = windows(text, config)
    starts, ends = TOKENIZER.token_offsets(text).T.tolist()
    assert all(0 <= span.char_start < span.char_end <= len(text) for span in spans)
    assert all(span.char_start in starts and span.char_end in ends for span in spans)
    for span, following in pairwise(spans):
        assert span.char_start < following.char_start
        assert span.char_end < following.char_end


@given(TEXTS, configs())
def test_only_white_space_is_left_out(text: str, config: ChunkingConfig) -> None:
    spans, _ = windows(text, config)
    rest = list(text)
    for span in spans:
        rest[span.char_start : span.char_end] = " " * (span.char_end - span.char_start)
    assert not TOKENIZER.token_offsets("".join(rest)).size


@given(TEXTS, configs())
def test_tokens_are_counted_on_the_text_of_the_chunk(text: str, config: ChunkingConfig) -> None:
    spans, _ = windows(text, config)
    for span in spans:
        chunk = text[span.char_start : span.char_end]
        assert span.num_tokens == len(TOKENIZER.token_offsets(chunk))


@given(TEXTS, configs())
def test_cutting_is_deterministic(text: str, config: ChunkingConfig) -> None:
    assert windows(text, config) == windows(text, config)
