"""Ports: what the method and the engine need of the world, one Protocol each.

Adapters live in ``annotators``, ``embedding``, ``index`` and ``storage``; deterministic fakes for
tests in ``testing``. An instance belongs to one process. All are synchronous but those over a
language model, of which hundreds of requests must wait at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from scp_ray.records import AnnotatedDocument, AnnotationUsage, Cnm

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


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One question to a language model, answered greedily (temperature 0).

    Attributes:
        instructions: The same bytes in every request of a kind, so that engines can cache them.
        content: What the question is about.
        max_tokens: Most tokens of the answer.
        choices: The answer is one of these; empty = not asked for.
        json_schema: The answer is a JSON object of this schema; None = not asked for.
    """

    instructions: str
    content: str
    max_tokens: int
    choices: tuple[str, ...] = ()
    json_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """An answer; an engine may fail to hold it to the choices or the schema.

    Attributes:
        text: The answer.
        prompt_tokens: Tokens of the request.
        cached_prompt_tokens: Those of them that were found in a prefix cache.
        output_tokens: Tokens of the answer.
    """

    text: str
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    output_tokens: int = 0


class TextGenerator(Protocol):
    """A language model. All calls come from one event loop; many may wait at once."""

    async def generate(self, request: GenerationRequest) -> Generation:
        """Answer one request.

        Raises:
            RequestRefusedError: If the model cannot take it, now or later.
            EngineDeadError: If no request will be answered any more.
            GenerationError: If it was not answered, for all the tries that are reasonable.
        """
        ...

    async def close(self) -> None:
        """Let go of engine and connections; no call may follow."""
        ...


class AnnotationCache(Protocol):
    """Answers of language models that were paid for before, by any run."""

    def get(self, key: bytes) -> str | None:
        """Return the answer for a key of 16 bytes, or None."""
        ...

    def put(self, key: bytes, answer: str) -> None:
        """Keep an answer; it is durable after the next ``flush``."""
        ...

    def flush(self) -> None:
        """Write what was put since the last flush, and take in what others have written."""
        ...


class CnmExtractor(Protocol):
    """CHOP's CNM-Extractor: the signature of one chunk, from that chunk's text alone."""

    async def extract_cnm(self, chunk: str) -> Cnm:
        """Return the signature; a field that is absent or ambiguous is missing."""
        ...


class ContinuityDecider(Protocol):
    """CHOP's Continuity Decision Module, over one pair of neighbouring chunks."""

    async def decide_continuity(self, chunk: str, next_chunk: str) -> bool:
        """Return True when ``next_chunk`` goes on with the subject of ``chunk``."""
        ...


class Annotator(Protocol):
    """Annotates documents, each in the order of its chunks. Threads may share one."""

    def annotate(self, documents: Sequence[Sequence[str]]) -> list[AnnotatedDocument]:
        """Annotate the chunks of each document; the first chunk of each starts a span.

        A document that cannot be annotated says so in its place and harms no other.

        Raises:
            EngineDeadError: If the engine behind it has ended.
            ModelUnreachableError: If the model leaves many requests in a row unanswered.
            CallLimitError: If the calls that it may make are used up.
        """
        ...

    def ask_ahead(self, pieces: Sequence[Sequence[str]]) -> AnnotationUsage:
        """Get what the pairs of pieces of documents need into the annotation cache.

        Whoever annotates one of these documents then finds it there; what is not answered is left
        to it. Without a language model there is nothing to get.

        Raises:
            EngineDeadError, ModelUnreachableError, CallLimitError: As ``annotate``.
        """
        ...

    def close(self) -> None:
        """End the model behind it, if any; no call may follow."""
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
