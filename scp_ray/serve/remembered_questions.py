"""An encoder that remembers the vectors of questions, for asking the same ones in many ways."""

from collections.abc import Sequence

import numpy as np

from scp_ray.protocols import Encoder, Float32Array, Tokenizer


class RememberingEncoder:
    """Wraps an encoder; the vector of a question is computed once and kept as long as this lives.

    Attributes:
        name: As of the encoder.
        revision: As of the encoder.
        dim: As of the encoder.
        max_tokens: As of the encoder.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self.revision = encoder.revision
        self.dim = encoder.dim
        self.max_tokens = encoder.max_tokens
        self._encoder = encoder
        self._vectors: dict[str, Float32Array] = {}

    @property
    def tokenizer(self) -> Tokenizer:
        """The encoder's."""
        return self._encoder.tokenizer

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of texts that are no questions; none is remembered."""
        return self._encoder.encode(texts)

    def encode_query(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of questions, shape (n, dim), float32, in the order given.

        Raises:
            EncoderError: As the encoder does.
        """
        for text in texts:
            if text not in self._vectors:
                self._vectors[text] = self._encoder.encode_query([text])[0]
        rows = [self._vectors[text] for text in texts]
        return np.stack(rows) if rows else self._encoder.encode_query([])
