"""The encoder for tests: no model, no download, the same bits everywhere.

It is a public part of the product, reached by the model name ``hash://<dim>``, so that a whole
pipeline of several processes can be tested with settings alone. It knows words, not meaning.
"""

import hashlib
import re
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from scp_ray.embedding.text_lengths import refuse_long_texts
from scp_ray.embedding.unit_rows import unit_rows
from scp_ray.errors import EncoderError
from scp_ray.protocols import Float32Array, Int64Array

HASH_SCHEME: Final = "hash://"
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_WORD: Final = re.compile(r"\w+")
_MAX_TOKENS: Final = 256
_NAME: Final = re.compile(r"hash://([1-9][0-9]{0,3})")
_REVISION: Final = "hash encoder 1"


class WordTokenizer:
    """Counts and places words and punctuation marks."""

    def token_offsets(self, text: str) -> Int64Array:
        """Return half-open character offsets of the tokens of ``text``, shape (n, 2), ascending."""
        offsets = array("q")
        for token in _TOKEN.finditer(text):
            offsets.extend(token.span())
        return np.frombuffer(offsets, dtype=np.int64).reshape(-1, 2)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has."""
        return [sum(1 for _ in _TOKEN.finditer(text)) for text in texts]


class HashEncoder:
    """Sums one fixed direction a word, so that texts that share words are near.

    A word's direction has the entries +1 and -1, taken from a hash of the word in lower case. The
    sum is one of integers, so the vector of a text is the same bit for bit in every batch, process
    and machine. A text whose sum is zero, as that of a text without words, gets the direction of
    the empty word.

    Attributes:
        name: ``hash://<dim>``.
        revision: SHA-256 that names this algorithm and ``dim``.
        dim: Length of a vector.
        max_tokens: 256.
    """

    def __init__(self, dim: int = 32) -> None:
        self.name = f"{HASH_SCHEME}{dim}"
        self.revision = hashlib.sha256(f"{_REVISION} {dim}".encode()).hexdigest()
        self.dim = dim
        self.max_tokens = _MAX_TOKENS
        self._tokenizer = WordTokenizer()

    @property
    def tokenizer(self) -> WordTokenizer:
        """Words and punctuation marks."""
        return self._tokenizer

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings, shape (n, dim), float32, unit norm, in the order given.

        Raises:
            EncoderError: If a text is longer than ``max_tokens``.
        """
        refuse_long_texts(self._tokenizer.count_tokens(texts), self.max_tokens)
        rows = np.zeros((len(texts), self.dim), dtype=np.int64)
        for row, text in enumerate(texts):
            rows[row] = sum(_directions(text, self.dim), start=rows[row])
            if not rows[row].any():
                rows[row] = _direction("", self.dim)
        return unit_rows(rows.astype(np.float32))

    def encode_query(self, texts: Sequence[str]) -> Float32Array:
        """Return ``encode(texts)``.

        Raises:
            EncoderError: If a text is longer than ``max_tokens``.
        """
        return self.encode(texts)


def hash_encoder_from_name(name: str) -> HashEncoder:
    """Return the encoder that ``hash://<dim>`` names.

    Raises:
        EncoderError: If ``<dim>`` is not a number from 1 to 9999.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        message = f"{name!r} names no hash encoder; write hash://<dim>, with a dim from 1 to 9999"
        raise EncoderError(message)
    return HashEncoder(int(match.group(1)))


def _directions(text: str, dim: int) -> Iterator[npt.NDArray[np.int64]]:
    for word in _WORD.finditer(text.lower()):
        yield _direction(word.group(), dim)


@lru_cache(maxsize=4096)
def _direction(word: str, dim: int) -> npt.NDArray[np.int64]:
    digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest((dim + 7) // 8)
    bits = np.unpackbits(np.frombuffer(digest, dtype=np.uint8))[:dim]
    return 2 * bits.astype(np.int64) - 1
