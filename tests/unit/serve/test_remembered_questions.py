"""Questions that are encoded once."""

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from scp_ray.embedding.hash_encoder import HashEncoder
from scp_ray.protocols import Float32Array
from scp_ray.serve.remembered_questions import RememberingEncoder


class _CountingEncoder(HashEncoder):
    def __init__(self) -> None:
        super().__init__(dim=16)
        self.encoded: list[str] = []

    @override
    def encode_query(self, texts: Sequence[str]) -> Float32Array:
        self.encoded += texts
        return super().encode_query(texts)


def test_a_question_is_encoded_once_to_the_same_vector() -> None:
    encoder = _CountingEncoder()
    remembering = RememberingEncoder(encoder)
    vectors = remembering.encode_query(["one", "two", "one"])
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, HashEncoder(dim=16).encode_query(["one", "two", "one"]))
    assert np.array_equal(remembering.encode_query(["two"]), vectors[1:2])
    assert encoder.encoded == ["one", "two"]
    assert remembering.encode_query([]).shape == (0, 16)


def test_all_else_is_the_encoders() -> None:
    encoder = HashEncoder(dim=16)
    remembering = RememberingEncoder(encoder)
    names = ("name", "revision", "dim", "max_tokens", "tokenizer")
    assert all(getattr(remembering, name) == getattr(encoder, name) for name in names)
    assert np.array_equal(remembering.encode(["text"]), encoder.encode(["text"]))
