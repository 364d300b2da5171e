"""Makes a question of a request: its vector, and its words by the index's statistics."""

from typing import NamedTuple

import numpy as np

from scp_ray.config import Settings, settings_from_manifest
from scp_ray.embedding.factory import load_named_tokenizer, load_tokenizer
from scp_ray.errors import ConfigError, IndexFormatError
from scp_ray.index.term_statistics import TermStatistics
from scp_ray.protocols import Float32Array, ObjectStore, Tokenizer
from scp_ray.records import QueryParams, Stemmer
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.terms import TERMS_REVISION
from scp_ray.serve.models import DegradedModel, QueryRequest
from scp_ray.serve.query_encoding import Encoded, EncodedQuestion
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.keys import TERMS_FILE
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import local_cache


def open_term_statistics(
    store: ObjectStore, manifest: Manifest, settings: Settings
) -> TermStatistics:
    """Fetch and check the term statistics of a generation, and map them.

    Raises:
        ChecksumError: If the file is missing or damaged.
        IndexFormatError: If its text became terms in another way than this version's.
    """
    if manifest.terms.revision != TERMS_REVISION:
        message = (
            f"{store.url}: its words were made by revision {manifest.terms.revision}, this version "
            f"makes them by revision {TERMS_REVISION}; run `scp-ray index` again, which embeds "
            "nothing again"
        )
        raise IndexFormatError(message)
    files = {TERMS_FILE: manifest.terms.file.sha256}
    folder = fetch_verified(store, manifest.folder, files, local_cache())
    stemmer = Stemmer(manifest.settings["index"]["stemmer"])
    return TermStatistics.open(folder / TERMS_FILE, settings.lexical, stemmer)


class ReadQuestion(NamedTuple):
    """A question as the shards get it, and what of it could not be used."""

    question: Question
    degraded: list[DegradedModel]


class QuestionReader:
    """Turns requests into questions of one generation; threads may share it.

    Args:
        dim: Length of an embedding.
        terms: Weighs words.
        context_tokenizer: Counts the tokens of contexts.
    """

    def __init__(self, dim: int, terms: TermStatistics, context_tokenizer: Tokenizer) -> None:
        self.context_tokenizer = context_tokenizer
        self._dim = dim
        self._terms = terms

    @classmethod
    def open(cls, store: ObjectStore, manifest: Manifest, settings: Settings) -> "QuestionReader":
        """Map the term statistics of a generation and load the tokenizer of contexts.

        Raises:
            EncoderError: If the tokenizer is not here.
            ChecksumError: If the statistics are missing or damaged.
        """
        terms = open_term_statistics(store, manifest, settings)
        name = settings.context.tokenizer
        embedding = settings_from_manifest(manifest.settings, settings).embedding
        tokenizer = load_named_tokenizer(name) if name else load_tokenizer(embedding)
        return cls(manifest.encoder.dim, terms, tokenizer)

    def read(
        self, request: QueryRequest, params: QueryParams, encoded: Encoded | None
    ) -> ReadQuestion:
        """Return vector and words of a request; one that gives an embedding has no words.

        Args:
            request: The request.
            params: Words are not looked up where ``lexical_weight`` is 0.
            encoded: What the encoder made of the request's text; None for an embedding.

        Raises:
            ConfigError: If a given embedding has another length or no direction, or the encoder
                refused the text.
        """
        if request.query is None:
            return ReadQuestion(Question(self._given_vector(request)), [])
        if not isinstance(encoded, EncodedQuestion):
            message = f"query: {encoded}"
            raise ConfigError(message)
        words = self._terms.weigh(request.query) if params.lexical_weight > 0.0 else None
        notes = [encoded.note] if encoded.note else []
        return ReadQuestion(Question(encoded.vector, words), notes)

    def _given_vector(self, request: QueryRequest) -> Float32Array:
        vector = np.asarray(request.embedding, dtype=np.float64)
        largest = float(np.max(np.abs(vector), initial=0.0))
        if vector.shape != (self._dim,) or not np.isfinite(largest) or largest == 0.0:
            message = f"embedding: expected {self._dim} finite numbers that are not all zero"
            raise ConfigError(message)
        vector /= largest  # no square overflows or vanishes
        unit: Float32Array = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit
