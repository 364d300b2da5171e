"""The encoder for tests."""

import subprocess
import sys

import numpy as np
import pytest

from scp_ray.embedding.hash_encoder import HashEncoder, WordTokenizer, hash_encoder_from_name
from scp_ray.errors import EncoderError


def test_tokens_are_words_and_marks() -> None:
    text = "Press RXC-225B, twice."
    offsets = WordTokenizer().token_offsets(text)
    assert offsets.dtype == np.int64
    tokens = [text[start:end] for start, end in offsets]
    assert tokens == ["Press", "RXC", "-", "225B", ",", "twice", "."]
    assert WordTokenizer().count_tokens([text, "", " \n"]) == [7, 0, 0]
    assert WordTokenizer().token_offsets("").shape == (0, 2)


def test_texts_that_share_words_are_near() -> None:
    cleaning, same, other = HashEncoder(64).encode(
        [
            "Clean the filter of the pump once a month.",
            "the FILTER of the pump: clean it once a month",
            "Warranty covers batteries for two years after purchase.",
        ]
    )
    assert cleaning @ same > 0.9
    assert cleaning @ other < 0.5


def test_order_of_words_does_not_count_but_repetition_does() -> None:
    one, turned, twice = HashEncoder().encode(["pump valve", "valve pump", "pump pump valve"])
    np.testing.assert_array_equal(one, turned)
    assert np.abs(one - twice).max() > 0.01


@pytest.mark.parametrize("dim", [1, 7, 32])
def test_texts_without_a_direction_get_a_fixed_one(dim: int) -> None:
    empty, marks = HashEncoder(dim).encode(["", "... !"])
    np.testing.assert_array_equal(empty, marks)
    assert np.linalg.norm(empty) == pytest.approx(1.0)


def test_words_that_cancel_out_get_the_direction_of_nothing() -> None:
    encoder = HashEncoder(1)
    words = [f"word{number}" for number in range(20)]
    signs = encoder.encode(words)[:, 0]
    plus, minus = words[int(signs.argmax())], words[int(signs.argmin())]
    assert signs.min() < 0 < signs.max()
    np.testing.assert_array_equal(encoder.encode([f"{plus} {minus}"]), encoder.encode([""]))


def test_bits_are_the_same_in_another_process() -> None:
    text = "Überdruckventil 4 bar, \udcff stray surrogate"
    code = (
        "from scp_ray.embedding.hash_encoder import HashEncoder;"
        f"print(HashEncoder(24).encode([{text!r}]).tobytes().hex())"
    )
    command = [sys.executable, "-c", code]
    other = subprocess.run(command, check=True, capture_output=True, text=True)
    assert other.stdout.strip() == HashEncoder(24).encode([text]).tobytes().hex()


def test_long_texts_are_refused_as_by_a_real_encoder() -> None:
    encoder = HashEncoder()
    encoder.encode(["word " * encoder.max_tokens])
    with pytest.raises(EncoderError, match="text 1 of 2 has 257 tokens"):
        encoder.encode(["short", "word " * (encoder.max_tokens + 1)])


def test_revision_tells_dims_apart() -> None:
    assert HashEncoder(8).revision == HashEncoder(8).revision != HashEncoder(9).revision


@pytest.mark.parametrize("dim", [1, 32, 9999])
def test_name_round_trips(dim: int) -> None:
    encoder = hash_encoder_from_name(f"hash://{dim}")
    assert (encoder.dim, encoder.name) == (dim, f"hash://{dim}")


@pytest.mark.parametrize("name", ["hash://", "hash://0", "hash://08", "hash://3x", "hash://10000"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(EncoderError, match="names no hash encoder; write hash://<dim>"):
        hash_encoder_from_name(name)
