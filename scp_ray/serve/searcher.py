"""An index opened in this process: the two-pass query without a service."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from scp_ray.config import SearchMode, Settings, settings_from_manifest
from scp_ray.embedding.factory import load_encoder
from scp_ray.errors import ConfigError, EncoderError
from scp_ray.protocols import Encoder, Float32Array
from scp_ray.records import PriorScope, QueryParams
from scp_ray.serve.models import QueryReply, QueryRequest
from scp_ray.serve.reply import Findings, build_reply
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current


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


def question_vector(request: QueryRequest, encoder: Encoder) -> Float32Array:
    """Return the question as a unit vector, shape (dim,), float32.

    Raises:
        ConfigError: If the question is longer than the encoder takes, or a given embedding has
            another length or no direction.
    """
    if request.query is not None:
        try:
            (encoded,) = encoder.encode_query([request.query])
        except EncoderError as error:
            message = f"query: {error}"
            raise ConfigError(message) from error
        return np.asarray(encoded, dtype=np.float32)
    vector = np.asarray(request.embedding, dtype=np.float64)
    norm = float(np.linalg.norm(vector))
    if vector.shape != (encoder.dim,) or not np.isfinite(norm) or norm == 0.0:
        message = f"embedding: expected {encoder.dim} finite numbers that are not all zero"
        raise ConfigError(message)
    unit: Float32Array = (vector / norm).astype(np.float32)
    return unit


def query_params(request: QueryRequest, manifest: Manifest, settings: Settings) -> QueryParams:
    """Return how to answer a question: as it asks, else as the settings say.

    ``index.search: exact`` holds when the index or this process has it.

    Raises:
        ConfigError: If a value is out of range.
    """
    asked = request.overrides
    if asked["exact"] is None and manifest.settings["index"]["search"] == SearchMode.EXACT:
        asked["exact"] = True
    return settings.query_params(**asked)


class Stopwatch:
    """Milliseconds of the steps of one query, by name."""

    def __init__(self) -> None:
        self.timings_ms: dict[str, float] = {}

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        """Time a step."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[step] = 1000 * (time.perf_counter() - started)


class LocalSearcher:
    """One generation with all of its shards and its encoder; threads may share it.

    Attributes:
        manifest: The generation.
    """

    def __init__(
        self, manifest: Manifest, group: ShardGroup, encoder: Encoder, settings: Settings
    ) -> None:
        self.manifest = manifest
        self._group = group
        self._encoder = encoder
        self._settings = settings

    @classmethod
    def open(cls, index: str, settings: Settings) -> "LocalSearcher":
        """Open the current generation of an index.

        Raises:
            IndexFormatError: If there is none, or it is of a newer format.
            ChecksumError: If a file is missing or damaged.
            EncoderError: If its encoder is not here.
        """
        manifest = load_current(open_store(index))
        shard_ids = [entry.shard_id for entry in manifest.shards]
        group = ShardGroup.open(index, manifest, shard_ids, settings)
        return cls(manifest, group, load_query_encoder(manifest, settings), settings)

    def answer(self, request: QueryRequest) -> QueryReply:
        """Answer one question.

        Raises:
            ConfigError: If the question cannot be asked of this index.
        """
        params = query_params(request, self.manifest, self._settings)
        watch = Stopwatch()
        with watch.measure("total"):
            with watch.measure("encode"):
                vector = question_vector(request, self._encoder)
            with watch.measure("search"):
                outcome = self._group.search(vector, params, request.filter)
            with watch.measure("fetch"):
                results = self._group.results(outcome.selection.kept)
        findings = Findings(
            outcome.first_pass,
            outcome.prior if params.prior_scope is PriorScope.GLOBAL else None,
            outcome.prior_applied,
            outcome.selection,
            self._group.shard_ids,
            timings_ms=watch.timings_ms,
        )
        return build_reply(self.manifest, findings, results, explain=request.explain)
