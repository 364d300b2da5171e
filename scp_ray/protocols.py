"""Ports: what the method and the engine need of the world, one Protocol each.

Adapters live in ``annotators``, ``embedding``, ``index`` and ``storage``; deterministic fakes for
tests in ``testing``. All are synchronous; an instance belongs to one process.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from scp_ray.records import ChunkAnnotation, Cnm

Float32Array: TypeAlias = npt.NDArray[np.float32]
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int64Array: TypeAlias = npt.NDArray[np.int64]


class Tokenizer(Protocol):
    """Counts and places the tokens of an encoder, special tokens not counted."""

    def token_offsets(self, text: str) -> Int64Array:
        """Return half-open character offsets of the tokens of ``text``, shape (n, 2), ascending.

        Works in time linear in ``len(text)`` and needs no more memory than the result.
        """
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has on its own."""
        ...


class Encoder(Protocol):
    """Turns texts into unit vectors.

    Attributes:
        name: Model name or folder, as the settings give it.
        revision: SHA-256 over what decides its output (weights, tokenizer, dtype).
        dim: Length of a vector.
        max_tokens: Most tokens of one text, special tokens not counted.
    """

    name: str
    revision: str
    dim: int
    max_tokens: int

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer whose counts decide what fits."""
        ...

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings, shape (n, dim), float32, unit norm, finite, in the order given.

        Raises:
            EncoderError: If a text is longer than ``max_tokens``, or a vector is not usable.
        """
        ...

    def encode_query(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of questions; as ``encode``, with the model's query prompt if any."""
        ...


class CnmExtractor(Protocol):
    """CHOP's CNM-Extractor: the signature of one chunk, from that chunk's text alone."""

    def extract_cnm(self, chunk: str) -> Cnm:
        """Return the signature; a field that is absent or ambiguous is missing."""
        ...


class ContinuityDecider(Protocol):
    """CHOP's Continuity Decision Module, over one pair of neighbouring chunks."""

    def decide_continuity(self, chunk: str, next_chunk: str) -> bool:
        """Return True when ``next_chunk`` goes on with the subject of ``chunk``."""
        ...


class Annotator(Protocol):
    """Annotates the chunks of one document, in order.

    Attributes:
        revision: Changes whenever the same text could get another annotation.
    """

    revision: str

    def annotate(self, chunks: Sequence[str]) -> list[ChunkAnnotation]:
        """Return one annotation a chunk; the first starts a span.

        Raises:
            AnnotationError: If a chunk cannot be annotated; the document is quarantined.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of a store: its key, its size and a version that changes with its bytes."""

    key: str
    size_bytes: int
    version: str


class ObjectStore(Protocol):
    """Flat, durable storage of named objects under one root.

    Keys are relative, ``/``-separated, without ``.`` and ``..`` parts. A reader sees the whole of
    an object or none of it.

    Attributes:
        url: Where the root is, for people and for ``storage.open_store``.
    """

    url: str

    def read(self, key: str) -> bytes:
        """Return the bytes of an object; ObjectNotFoundError if there is none."""
        ...

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """Return bytes and version of one state of an object."""
        ...

    def write(self, key: str, data: bytes) -> None:
        """Create or replace an object, atomically and durably."""
        ...

    def upload(self, path: Path, key: str) -> None:
        """Create or replace an object from a local file, atomically and durably."""
        ...

    def compare_and_swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        """Write only if the object has this version (None: does not exist); return the new one.

        Raises:
            PreconditionFailedError: If the object is in another state.
        """
        ...

    def local_path(self, key: str) -> Path | None:
        """Return a path at which the object can be mapped, or None if it must be downloaded."""
        ...

    def download(self, key: str, path: Path) -> None:
        """Write the object's bytes to a local file."""
        ...

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose key starts with ``prefix``, ordered by key."""
        ...

    def delete(self, key: str) -> None:
        """Remove an object; no error if there is none."""
        ...


class Reranker(Protocol):
    """Reads a question and a text together and says how well the text answers.

    Attributes:
        name: Model name or folder, as the settings give it.
        revision: SHA-256 over what decides its output (weights, tokenizer, dtype).
    """

    name: str
    revision: str

    def score(self, question: str, texts: Sequence[str]) -> Float64Array:
        """Return one score a text, shape (n,), finite, higher is better, in the order given.

        The whole of a text counts, however long it is. A score does not depend on the other texts
        of the call beyond rounding, and equal texts have equal scores.

        Raises:
            EncoderError: If the question is too long, or a score is not finite.
        """
        ...
