"""Laws of the chunkers that the product is compared with, for any text and any sizes."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scp_ray.embedding.hash_encoder import HashEncoder
from scp_ray.evaluation.baselines.chunkers import ChunkMethod, cut_with
from scp_ray.evaluation.baselines.headings import heading_starts
from scp_ray.evaluation.baselines.sentences import sentence_spans
from scp_ray.protocols import Float32Array, Int64Array
from scp_ray.records import ChunkSpan
from scp_ray.sections import ChunkingConfig


class PieceTokenizer:
    """Pieces of up to four characters of words and single other characters, as in WordPiece.

    A word that ends in ``z`` has a token more, so that cutting words changes counts.
    """

    def token_offsets(self, text: str) -> Int64Array:
        spans = [match.span() for match in re.finditer(r"\w{1,4}|[^\w\s]", text)]
        return np.array(spans, dtype=np.int64).reshape(-1, 2)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w{1,4}|[^\w\s]|(?<=z)(?!\w)", text)) for text in texts]


TOKENIZER = PieceTokenizer()
OURS = [ChunkMethod.SENTENCES, ChunkMethod.HEADINGS, ChunkMethod.COSINE]


@st.composite
def configs(draw: st.DrawFn) -> ChunkingConfig:
    size = draw(st.integers(8, 24))
    return ChunkingConfig(chunk_size_tokens=size, overlap_tokens=draw(st.integers(0, size - 1)))


PARTS = st.sampled_from(
    'word ~z~Abcde ~. ~! ~\n~\n\n~# ~HEAD\n\n~- ~| ~1. ~。~\u0301~\r\n~\u2028~é~😀~)~" '.split("~")
)
TEXTS = st.lists(PARTS, max_size=120).map("".join).filter(lambda text: text.split())


def embed(texts: Sequence[str]) -> Float32Array:
    return HashEncoder(8).encode(texts)


def cut(method: ChunkMethod, text: str, config: ChunkingConfig) -> list[ChunkSpan]:
    return cut_with(method, text, TOKENIZER, config, embed=embed)


@pytest.mark.parametrize("method", OURS)
@given(text=TEXTS, config=configs())
def test_only_white_space_is_left_out(
    method: ChunkMethod, text: str, config: ChunkingConfig
) -> None:
    rest = list(text)
    for span in cut(method, text, config):
        rest[span.char_start : span.char_end] = " " * (span.char_end - span.char_start)
    assert not "".join(rest).strip()


@pytest.mark.parametrize("method", list(ChunkMethod))
@given(text=TEXTS, config=configs())
def test_spans_ascend_and_count_their_own_tokens(
    method: ChunkMethod, text: str, config: ChunkingConfig
) -> None:
    spans = cut(method, text, config)
    assert all(0 <= span.char_start < span.char_end <= len(text) for span in spans)
    for span, following in pairwise(spans):
        assert span.char_start < following.char_start
        assert span.char_end < following.char_end
    shown = [text[span.char_start : span.char_end] for span in spans]
    assert [span.num_tokens for span in spans] == TOKENIZER.count_tokens(shown)
    assert all(span.num_tokens for span in spans)


@pytest.mark.parametrize("method", OURS)
@given(text=TEXTS, config=configs())
def test_sizes_are_kept(method: ChunkMethod, text: str, config: ChunkingConfig) -> None:
    spans = cut(method, text, config)
    assert all(span.num_tokens <= config.chunk_size_tokens for span in spans)
    most = 0 if method is ChunkMethod.COSINE else config.overlap_tokens
    for span, following in pairwise(spans):
        shared = text[following.char_start : max(span.char_end, following.char_start)]
        assert TOKENIZER.count_tokens([shared])[0] <= most


@pytest.mark.parametrize("method", OURS)
@given(text=TEXTS, config=configs())
def test_sentences_that_fit_are_whole(
    method: ChunkMethod, text: str, config: ChunkingConfig
) -> None:
    spans = cut(method, text, config)
    for start, end in sentence_spans(text):
        if 0 < TOKENIZER.count_tokens([text[start:end]])[0] <= config.chunk_size_tokens:
            assert any(span.char_start <= start and end <= span.char_end for span in spans)


@given(text=TEXTS, config=configs())
def test_no_chunk_goes_on_past_a_heading(text: str, config: ChunkingConfig) -> None:
    headings = set(heading_starts(text))
    sentences = [start for start, _ in sentence_spans(text)]
    for span in cut(ChunkMethod.HEADINGS, text, config):
        inside = [
            start in headings for start in sentences if span.char_start <= start < span.char_end
        ]
        assert inside == sorted(inside, reverse=True)


class CountingTokenizer(PieceTokenizer):
    """Knows how much text it was shown."""

    def __init__(self) -> None:
        self.num_characters = 0

    def token_offsets(self, text: str) -> Int64Array:
        self.num_characters += len(text)
        return super().token_offsets(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.num_characters += sum(map(len, texts))
        return super().count_tokens(texts)


@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize("unit", ["Word z. ", "word ", "a", "az ", "# A\n\n", "- a\n", "。"])
@given(config=configs())
@settings(max_examples=8)
def test_each_character_is_tokenized_a_few_times(
    method: ChunkMethod, unit: str, config: ChunkingConfig
) -> None:
    tokenizer = CountingTokenizer()
    text = unit * (4000 // len(unit))
    spans = cut_with(method, text, tokenizer, config, embed=embed_alike)
    in_windows = sum(span.char_end - span.char_start for span in spans)
    assert tokenizer.num_characters <= 6 * (len(text) + in_windows)


def embed_alike(texts: Sequence[str]) -> Float32Array:
    return np.ones((len(texts), 1), np.float32)
