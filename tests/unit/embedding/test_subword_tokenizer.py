"""Counting and placing the tokens of a fast tokenizer."""

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

from scp_ray.embedding import subword_tokenizer
from scp_ray.embedding.subword_tokenizer import SubwordTokenizer


@pytest.fixture
def model_tokenizer() -> tokenizers.Tokenizer:
    """A word-piece tokenizer with truncation, padding and special tokens, as models have."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "pump", "valve", "##s", "12", "-", "."]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=8)
    return tokenizer


def test_offsets_place_every_token(model_tokenizer: tokenizers.Tokenizer) -> None:
    text = "The pumps-12.  \n Valve \N{GRINNING FACE} the"
    offsets = SubwordTokenizer(model_tokenizer).token_offsets(text)
    assert offsets.dtype == np.int64
    tokens = [text[start:end] for start, end in offsets]
    expected = ["The", "pump", "s", "-", "12", ".", "Valve", "\N{GRINNING FACE}", "the"]
    assert tokens == expected


def test_empty_texts(model_tokenizer: tokenizers.Tokenizer) -> None:
    tokenizer = SubwordTokenizer(model_tokenizer)
    assert tokenizer.token_offsets("").shape == (0, 2)
    assert tokenizer.token_offsets(" \n").shape == (0, 2)
    assert tokenizer.count_tokens([]) == []
    assert tokenizer.count_tokens(["", " \n"]) == [0, 0]


def test_model_keeps_its_own_state(model_tokenizer: tokenizers.Tokenizer) -> None:
    before = model_tokenizer.to_str()
    SubwordTokenizer(model_tokenizer).count_tokens(["the pump the pump the pump"])
    assert model_tokenizer.to_str() == before


def test_counts_are_those_of_offsets(model_tokenizer: tokenizers.Tokenizer) -> None:
    tokenizer = SubwordTokenizer(model_tokenizer)
    texts = ["the pump " * number for number in range(200)]
    texts.append("the pumps. " * 20_000)  # several segments
    expected = [len(tokenizer.token_offsets(text)) for text in texts]
    assert tokenizer.count_tokens(texts) == expected
    assert expected[-1] == 80_000


def test_reads_a_file(model_tokenizer: tokenizers.Tokenizer, tmp_path: Path) -> None:
    model_tokenizer.save(str(tmp_path / "tokenizer.json"))
    read = SubwordTokenizer.from_file(tmp_path / "tokenizer.json")
    assert read.count_tokens(["the pumps"]) == [3]


def test_text_without_white_space_is_covered(
    model_tokenizer: tokenizers.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subword_tokenizer, "_SEGMENT_CHARACTERS", 10)
    offsets = SubwordTokenizer(model_tokenizer).token_offsets("12" + "-" * 100)
    assert offsets[:, 1].max() == 102
    assert len(offsets) == 101


def test_memory_of_a_long_text_is_that_of_the_result(
    model_tokenizer: tokenizers.Tokenizer,
) -> None:
    tokenizer = SubwordTokenizer(model_tokenizer)
    text = "the pumps " * 60_000
    tokenizer.token_offsets(text[:1000])
    tracemalloc.start()
    try:
        offsets = tokenizer.token_offsets(text)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(offsets) == 180_000
    assert peak_bytes < 2.5 * offsets.nbytes


@pytest.mark.parametrize("word", ["the pumps ", "  ", "-", "\n"])
def test_time_is_linear(model_tokenizer: tokenizers.Tokenizer, word: str) -> None:
    tokenizer = SubwordTokenizer(model_tokenizer)
    short, long = word * 20_000, word * 160_000

    def seconds(text: str) -> float:
        started = time.process_time()
        tokenizer.count_tokens([text])
        return time.process_time() - started

    assert seconds(long) < 24 * min(seconds(short) for _ in range(3)) + 0.05
