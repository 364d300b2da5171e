"""Reads a question: its vector by the index's own encoder, its words by the index's statistics."""

from typing import NamedTuple

import numpy as np

from scp_ray.config import Settings, settings_from_manifest
from scp_ray.embedding.factory import load_encoder, load_named_tokenizer
from scp_ray.errors import ConfigError, EncoderError, IndexFormatError
from scp_ray.index.term_statistics import TermStatistics
from scp_ray.protocols import Encoder, Float32Array, ObjectStore, Tokenizer
from scp_ray.records import QueryParams, Stemmer
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.terms import TERMS_REVISION
from scp_ray.serve.models import DegradedModel, QueryRequest
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.keys import TERMS_FILE
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import local_cache

_QUESTION = "question"


def load_query_encoder(manifest: Manifest, settings: Settings) -> Encoder:
    """Load the encoder that made the index's vectors.

    Raises:
        EncoderError: If it is not here, or is another one under the same name.
    """
    config = settings_from_manifest(manifest.settings, settings).embedding
    # A question is short: a second thread gains nothing, and on a busy machine waits for the first.
    encoder = load_encoder(config, num_threads=config.num_threads or 1)
    if encoder.revision != manifest.encoder.revision:
        message = (
            f"the index was made with {manifest.encoder.model!r} of revision "
            f"{manifest.encoder.revision[:12]}, and the model of that name here has revision "
            f"{encoder.revision[:12]}; install the same model, or build the index again"
        )
        raise EncoderError(message)
    return encoder


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

    Attributes:
        encoder: The encoder that made its vectors.
        context_tokenizer: Counts the tokens of contexts.
    """

    def __init__(
        self, encoder: Encoder, terms: TermStatistics, context_tokenizer: Tokenizer | None = None
    ) -> None:
        self.encoder = encoder
        self.context_tokenizer = context_tokenizer or encoder.tokenizer
        self._terms = terms

    @classmethod
    def open(cls, store: ObjectStore, manifest: Manifest, settings: Settings) -> "QuestionReader":
        """Load the encoder of a generation and map its term statistics.

        Raises:
            EncoderError: If the encoder, or the tokenizer of ``context.tokenizer``, is not here.
            ChecksumError: If the statistics are missing or damaged.
        """
        terms = open_term_statistics(store, manifest, settings)
        name = settings.context.tokenizer
        tokenizer = load_named_tokenizer(name) if name else None
        return cls(load_query_encoder(manifest, settings), terms, tokenizer)

    def read(self, request: QueryRequest, params: QueryParams) -> ReadQuestion:
        """Return vector and words of a request; one that gives an embedding has no words.

        Words are not looked up where they have no weight. Of a question that is longer than the
        encoder takes, the first part makes the vector, and all of it the words.

        Raises:
            ConfigError: If a given embedding has another length or no direction.
        """
        if request.query is None:
            return ReadQuestion(Question(self._given_vector(request)), [])
        text, degraded = self._fitting(request.query)
        try:
            (encoded,) = self.encoder.encode_query([text])
        except EncoderError as error:
            message = f"query: {error}"
            raise ConfigError(message) from error
        words = self._terms.weigh(request.query) if params.lexical_weight > 0.0 else None
        return ReadQuestion(Question(np.asarray(encoded, dtype=np.float32), words), degraded)

    def _fitting(self, query: str) -> tuple[str, list[DegradedModel]]:
        limit = self.encoder.max_tokens
        if len(query.encode("utf-8", "surrogatepass")) <= limit:  # a token has a byte or more
            return query, []
        ends = self.encoder.tokenizer.token_offsets(query)[:, 1]
        if len(ends) <= limit:
            return query, []
        reason = f"its vector is of its first {limit} tokens of {len(ends)}; all its words count"
        return query[: int(ends[limit - 1])], [DegradedModel(group=_QUESTION, reason=reason)]

    def _given_vector(self, request: QueryRequest) -> Float32Array:
        vector = np.asarray(request.embedding, dtype=np.float64)
        norm = float(np.linalg.norm(vector))
        dim = self.encoder.dim
        if vector.shape != (dim,) or not np.isfinite(norm) or norm == 0.0:
            message = f"embedding: expected {dim} finite numbers that are not all zero"
            raise ConfigError(message)
        unit: Float32Array = (vector / norm).astype(np.float32)
        return unit
