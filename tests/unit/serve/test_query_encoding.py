"""Questions encoded together are what they are alone, and fail alone."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.embedding.hash_encoder import HashEncoder
from scp_ray.errors import EncoderError, NotReadyError
from scp_ray.protocols import Encoder, Float32Array
from scp_ray.serve.query_encoding import EncodeCall, EncodedQuestion, encode_calls, encode_each
from scp_ray.storage.keys import generation_folder
from scp_ray.storage.publish import GenerationEntry

WORDS = st.lists(st.sampled_from(["pump", "Ventil", "\ud800", "-", "K-104", "é"]), max_size=9)
TEXTS = st.builds(lambda words, times: " ".join(words * times), WORDS, st.sampled_from([1, 1, 60]))


def entry(number: int) -> GenerationEntry:
    manifest = generation_folder(number, "") + "/manifest.json"
    return GenerationEntry(generation=number, manifest=manifest, manifest_sha256=f"{number:064x}")


class Picky(HashEncoder):
    """Refuses a batch that holds a word; breaks at another word."""

    def __init__(self) -> None:
        super().__init__(32)
        self.num_batches = 0

    def encode_query(self, texts: Sequence[str]) -> Float32Array:
        self.num_batches += 1
        if any("valve" in text for text in texts):
            message = "no valves"
            raise EncoderError(message)
        if any("crash" in text for text in texts):
            message = "out of memory"
            raise RuntimeError(message)
        return super().encode_query(texts)


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_a_batch_gives_what_each_text_gives_alone(texts: list[str]) -> None:
    encoder = HashEncoder(32)
    for text, together in zip(texts, encode_each(encoder, texts), strict=True):
        (alone,) = encode_each(encoder, [text])
        assert isinstance(together, EncodedQuestion)
        assert isinstance(alone, EncodedQuestion)
        assert together.vector.tobytes() == alone.vector.tobytes()
        assert together.note == alone.note


def test_a_long_text_is_cut_and_told_and_a_short_one_is_not() -> None:
    encoder = HashEncoder(32)
    whole = " ".join(f"w{number}" for number in range(encoder.max_tokens))
    fits, cut = encode_each(encoder, [whole, whole + " and more"])
    assert isinstance(fits, EncodedQuestion)
    assert isinstance(cut, EncodedQuestion)
    assert fits.note is None
    assert np.array_equal(fits.vector, cut.vector)
    assert cut.note is not None
    assert cut.note.reason == "its vector is of its first 256 tokens of 258; all its words count"


def test_a_refused_text_fails_alone() -> None:
    texts = ["the pump", "the valve", "the lamp"]
    first, second, third = encode_each(Picky(), texts)
    assert isinstance(second, EncoderError)
    for text, encoded in (("the pump", first), ("the lamp", third)):
        assert isinstance(encoded, EncodedQuestion)
        assert np.array_equal(encoded.vector, HashEncoder(32).encode_query([text])[0])


@pytest.fixture
def executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


def _encode(
    calls: list[EncodeCall], encoders: dict[GenerationEntry, Encoder], executor: ThreadPoolExecutor
) -> Sequence[object]:
    def encoder_of(generation: GenerationEntry) -> Encoder:
        if generation not in encoders:
            message = f"generation {generation.generation} is not open"
            raise NotReadyError(message)
        return encoders[generation]

    with executor:
        return asyncio.run(encode_calls(calls, encoder_of, executor))


def test_questions_of_several_generations_keep_their_order(executor: ThreadPoolExecutor) -> None:
    encoders: dict[GenerationEntry, Encoder] = {entry(1): HashEncoder(32), entry(2): HashEncoder(8)}
    calls = [EncodeCall(entry(1 + number % 2), f"word {number}") for number in range(7)]
    for call, encoded in zip(calls, _encode(calls, encoders, executor), strict=True):
        expected = encoders[call.generation].encode_query([call.text])[0]
        assert isinstance(encoded, EncodedQuestion)
        assert np.array_equal(encoded.vector, expected)


def test_a_generation_that_is_not_open_or_fails_costs_its_own_questions_alone(
    executor: ThreadPoolExecutor,
) -> None:
    picky = Picky()
    encoders: dict[GenerationEntry, Encoder] = {entry(1): picky, entry(2): HashEncoder(32)}
    calls = [
        EncodeCall(entry(1), "crash"),
        EncodeCall(entry(2), "pump"),
        EncodeCall(entry(3), "pump"),
        EncodeCall(entry(2), "valve"),
    ]
    broken, pump, closed, valve = _encode(calls, encoders, executor)
    assert isinstance(broken, RuntimeError)
    assert isinstance(closed, NotReadyError)
    assert isinstance(pump, EncodedQuestion)
    assert isinstance(valve, EncodedQuestion)


def test_questions_that_wait_together_are_one_batch(executor: ThreadPoolExecutor) -> None:
    picky = Picky()
    calls = [EncodeCall(entry(1), f"word {number}") for number in range(20)]
    assert len(_encode(calls, {entry(1): picky}, executor)) == 20
    assert picky.num_batches == 1
