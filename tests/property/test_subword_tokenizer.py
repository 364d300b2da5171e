"""Tokenizing in segments gives the tokens of the whole text, for every kind of tokenizer."""

import string
from unittest import mock

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers, trainers

from scp_ray.embedding import subword_tokenizer
from scp_ray.embedding.subword_tokenizer import SubwordTokenizer

WORDS = "the pump valve filters filter pressure bar unplug unplugged screws e17 0.4"


def _word_piece() -> tokenizers.Tokenizer:
    letters = string.ascii_lowercase + string.digits + "."
    tokens = ["[UNK]", *letters, *(f"##{letter}" for letter in letters), "pump", "##ed"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _byte_level() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([WORDS] * 3, trainer)
    return tokenizer


def _unigram() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    trainer = trainers.UnigramTrainer(
        vocab_size=60,
        show_progress=False,
        unk_token="<unk>",
        special_tokens=["<unk>"],
    )
    tokenizer.train_from_iterator([WORDS] * 3, trainer)
    return tokenizer


MAKERS = {"word piece": _word_piece, "byte level": _byte_level, "unigram": _unigram}
KINDS = {name: make() for name, make in MAKERS.items()}
prose = st.lists(
    st.tuples(st.sampled_from(WORDS.split()), st.sampled_from([" ", " ", ". ", "\n\n", " é漢 "])),
    max_size=60,
).map(lambda pairs: "".join(word + gap for word, gap in pairs))


@pytest.mark.parametrize("kind", KINDS)
@given(text=prose)
def test_segments_change_nothing(kind: str, text: str) -> None:
    whole = KINDS[kind].encode(text, add_special_tokens=False).offsets
    expected = np.array(whole, dtype=np.int64).reshape(-1, 2)
    tokenizer = SubwordTokenizer(KINDS[kind])
    with mock.patch.object(subword_tokenizer, "_SEGMENT_CHARACTERS", 40):
        np.testing.assert_array_equal(tokenizer.token_offsets(text), expected)
        assert tokenizer.count_tokens([text, "", text]) == [len(expected), 0, len(expected)]


@given(text=st.text(alphabet="ab.é漢 \n\t", max_size=120))
def test_any_text_is_covered_once_and_in_order(text: str) -> None:
    with mock.patch.object(subword_tokenizer, "_SEGMENT_CHARACTERS", 7):
        offsets = SubwordTokenizer(KINDS["word piece"]).token_offsets(text)
    assert (offsets[1:, 0] >= offsets[:-1, 1]).all()
    covered = "".join(text[start:end] for start, end in offsets)
    assert covered == "".join(text.split())
