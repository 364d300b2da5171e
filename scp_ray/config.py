"""Settings: one frozen tree, and the only reader of settings files and of the environment.

Sources, later wins: defaults, YAML file, environment ``SCP_RAY__SECTION__KEY``, ``--set
section.key=value``. Unknown keys are refused with the nearest valid name. The resolved tree and
its hash are stored in every manifest; ``fingerprint`` names what shapes a document's rows, so
that a document is done again exactly when its rows could differ.
"""

import difflib
import hashlib
import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from scp_ray.errors import ConfigError
from scp_ray.records import PriorScope, QueryParams

ENV_PREFIX = "SCP_RAY__"

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveInt = Annotated[int, Field(ge=1)]


class AnnotatorName(StrEnum):
    """Which annotator writes the CNMs."""

    NONE = "none"
    HEURISTIC = "heuristic"


class Dtype(StrEnum):
    """Number format of the encoder's weights and activations; vectors are float32 always."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class SearchMode(StrEnum):
    """How a shard finds its nearest vectors."""

    HNSW = "hnsw"
    EXACT = "exact"


class Section(BaseModel):
    """A group of settings: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CorpusConfig(Section):
    """Reading and parsing.

    Attributes:
        max_document_bytes: Larger inputs, and larger texts, are quarantined as oversized.
    """

    max_document_bytes: PositiveInt = 512 * 1024 * 1024


class ChunkingConfig(Section):
    """Token windows, in tokens of the encoder.

    Attributes:
        chunk_size_tokens: Tokens of a window.
        overlap_tokens: Tokens that two neighbouring windows share.
        prefix_budget_tokens: Most tokens that the CNM prefix may add to a chunk.
    """

    chunk_size_tokens: Annotated[int, Field(ge=8)] = 200
    overlap_tokens: Annotated[int, Field(ge=0)] = 50
    prefix_budget_tokens: Annotated[int, Field(ge=0)] = 40

    @model_validator(mode="after")
    def _overlap_is_shorter(self) -> Self:
        if self.overlap_tokens >= self.chunk_size_tokens:
            message = (
                f"chunking.overlap_tokens ({self.overlap_tokens}) must be less than "
                f"chunking.chunk_size_tokens ({self.chunk_size_tokens})"
            )
            raise ValueError(message)
        return self


class ChopConfig(Section):
    """CHOP annotation.

    Attributes:
        annotator: ``heuristic`` (deterministic, no model) or ``none`` (no prefix).
        document_fallback: Whether a field that a span leaves missing is taken from the
            document's own signature, the one of its first span.
    """

    annotator: AnnotatorName = AnnotatorName.HEURISTIC
    document_fallback: bool = True


class EmbeddingConfig(Section):
    """The encoder.

    Attributes:
        model: A sentence-transformers name or folder.
        dtype: ``float32`` or ``bfloat16``.
        batch_size: Texts of one forward pass.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        gpus_per_actor: GPUs, or the share of one, that an embedding actor takes; None = 1 where
            the cluster has GPUs, else 0.
        num_threads: CPU threads of one encoder; 0 = the node's CPUs over its embedding actors.
    """

    model: str = "all-MiniLM-L6-v2"
    dtype: Dtype = Dtype.FLOAT32
    batch_size: PositiveInt = 32
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")] = "auto"
    gpus_per_actor: Annotated[float, Field(ge=0.0)] | None = None
    num_threads: Annotated[int, Field(ge=0)] = 0


class IndexConfig(Section):
    """Shards and their HNSW graphs.

    Attributes:
        num_shards: Shards of a generation.
        m: Links of a node of the graph.
        ef_construction: Candidates while building.
        ef_search: Least number of candidates while searching; more when more is asked.
        positional_code_weight: Weight a of the positional code in the stored vectors.
        search: ``hnsw``, or ``exact`` for a full scan of each query.
        build_threads: Threads of one shard build; 1 gives the same bytes every time.
        min_recall: Build audit: least recall@10 against exact search.
        audit_queries: Build audit: vectors of the shard that are searched for.
    """

    num_shards: Annotated[int, Field(ge=1, le=100_000)] = 4
    m: Annotated[int, Field(ge=4, le=128)] = 32
    ef_construction: Annotated[int, Field(ge=8, le=4096)] = 200
    ef_search: Annotated[int, Field(ge=8, le=65_536)] = 128
    positional_code_weight: Annotated[float, Field(gt=0.0, le=10.0)] = 0.2
    search: SearchMode = SearchMode.HNSW
    build_threads: PositiveInt = 1
    min_recall: Fraction = 0.95
    audit_queries: PositiveInt = 200


class RetrievalConfig(Section):
    """Defaults of a query; each can be set for one query.

    Attributes:
        top_k: Results.
        min_index_gap: Least chunk_index distance of two results of a document; 1 = off.
        position_weight: Weight w of the position term; 0 = plain cosine.
        first_pass_candidates: First-pass hits that form the prior.
        prior_temperature: Softmax temperature over their scores.
        prior_gate: Least concentration at which position counts.
        prior_scope: ``global``, or ``shard`` to save a round trip.
    """

    top_k: Annotated[int, Field(ge=1, le=1000)] = 5
    min_index_gap: PositiveInt = 2
    position_weight: Annotated[float, Field(ge=0.0, le=1.0)] = 0.02
    first_pass_candidates: Annotated[int, Field(ge=1, le=1000)] = 20
    prior_temperature: Annotated[float, Field(gt=0.0)] = 0.05
    prior_gate: Fraction = 0.2
    prior_scope: PriorScope = PriorScope.GLOBAL


class PublishConfig(Section):
    """Guards of a commit.

    Attributes:
        max_removed_fraction: Largest share of the documents that may vanish between two
            generations without ``--allow-removals``.
    """

    max_removed_fraction: Fraction = 0.2


class ClusterConfig(Section):
    """How the pipeline uses a Ray cluster; 0 = from what the cluster and the corpus are.

    Attributes:
        parse_tasks: Most parsing and chunking tasks at once.
        annotate_actors: Annotator actors.
        embed_actors: Embedding actors.
        build_tasks: Most shard builds at once.
        documents_per_batch: Documents in one call of an actor; 0 = from their mean size.
        max_restarts: Restarts of an actor, and tries of a task, before the run fails.
    """

    parse_tasks: Annotated[int, Field(ge=0)] = 0
    annotate_actors: Annotated[int, Field(ge=0)] = 0
    embed_actors: Annotated[int, Field(ge=0)] = 0
    build_tasks: Annotated[int, Field(ge=0)] = 0
    documents_per_batch: Annotated[int, Field(ge=0)] = 0
    max_restarts: Annotated[int, Field(ge=0)] = 3


class ServeConfig(Section):
    """The query service.

    Attributes:
        host: Address to listen on.
        port: TCP port.
        num_groups: Deployments that the shards are spread over, at most one per shard.
        replicas_per_group: Replicas of each.
        deadline_ms: Most time of a query.
        max_query_characters: Longer questions are refused.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65_535)] = 8000
    num_groups: PositiveInt = 1
    replicas_per_group: PositiveInt = 1
    deadline_ms: PositiveInt = 2000
    max_query_characters: PositiveInt = 10_000


class Settings(Section):
    """All settings of scp_ray."""

    corpus: CorpusConfig = CorpusConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    chop: ChopConfig = ChopConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    index: IndexConfig = IndexConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    publish: PublishConfig = PublishConfig()
    cluster: ClusterConfig = ClusterConfig()
    serve: ServeConfig = ServeConfig()

    @property
    def hash(self) -> str:
        """SHA-256 of the resolved tree."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def with_values(self, section: str, **values: Any) -> "Settings":
        """Return the tree with values of one section changed; None keeps what is.

        Raises:
            ConfigError: If a value is out of range.
        """
        given = {key: value for key, value in values.items() if value is not None}
        changed = getattr(self, section).model_dump() | given
        checked = getattr(_validated({section: changed}), section)
        return self.model_copy(update={section: checked})

    def query_params(self, *, exact: bool | None = None, **overrides: Any) -> QueryParams:
        """Build the parameters of one query; an override of None keeps the setting.

        Raises:
            ConfigError: If an override is out of range.
        """
        retrieval = self.with_values("retrieval", **overrides).retrieval
        is_exact = self.index.search is SearchMode.EXACT if exact is None else exact
        return QueryParams(**retrieval.model_dump(), exact=is_exact)


def load_settings(
    file: Path | None = None,
    assignments: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Resolve settings from a YAML file, the environment and ``section.key=value`` assignments.

    Args:
        file: YAML file with a map of sections, or None.
        assignments: The values of ``--set``; each value is read as YAML.
        environment: Variables to read; None = the process's own.

    Raises:
        ConfigError: If a source is unreadable, a key unknown or a value out of range.
    """
    tree = _read_yaml(file) if file else {}
    variables = os.environ if environment is None else environment
    for name, value in sorted(variables.items()):
        if name.startswith(ENV_PREFIX):
            _assign(tree, name.removeprefix(ENV_PREFIX).lower().split("__"), value, name)
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator:
            message = f"--set {assignment!r}: expected section.key=value"
            raise ConfigError(message)
        _assign(tree, name.strip().split("."), value, f"--set {name}")
    return _validated(tree)


def settings_from_tree(tree: Mapping[str, Any]) -> Settings:
    """Return settings from a tree of plain values, as a manifest or an application holds it.

    Raises:
        ConfigError: If a key is unknown or a value out of range.
    """
    return _validated(tree)


def settings_from_manifest(tree: Mapping[str, Any], assignments: Settings) -> Settings:
    """Take what decides a query's meaning from the index and the rest from this process."""
    stored = _validated(tree)
    return assignments.model_copy(
        update={
            "chunking": stored.chunking,
            "chop": stored.chop,
            "embedding": assignments.embedding.model_copy(
                update={"model": stored.embedding.model, "dtype": stored.embedding.dtype}
            ),
        }
    )


def ray_address() -> str:
    """Return the Ray cluster to join, ``RAY_ADDRESS``; ``local`` = start one for this process.

    A cluster that merely happens to run on the machine is not joined: it may be somebody else's,
    and the trace of one that has died makes Ray wait for minutes.
    """
    return os.environ.get("RAY_ADDRESS") or "local"


def available_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def fingerprint(settings: Settings, *revisions: str) -> str:
    """Name everything that shapes the rows of a document, apart from its content.

    Args:
        settings: The run's settings.
        revisions: Revisions of parser, annotator, prefix template and encoder.
    """
    shaping = [
        settings.chunking.model_dump_json(),
        settings.chop.model_dump_json(),
        settings.embedding.model_dump_json(include={"model", "dtype"}),
        *revisions,
    ]
    return hashlib.sha256("\n".join(shaping).encode()).hexdigest()


def _read_yaml(file: Path) -> dict[str, Any]:
    try:
        tree = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except OSError as error:
        message = f"cannot read settings file {file}: {error.strerror}"
        raise ConfigError(message) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        message = f"settings file {file} is not YAML: {error}"
        raise ConfigError(message) from error
    if not isinstance(tree, dict) or not all(
        isinstance(section, dict | None) for section in tree.values()
    ):
        message = f"settings file {file} must be a map of sections, each a map of keys"
        raise ConfigError(message)
    return {str(name): dict(section or {}) for name, section in tree.items()}


def _assign(tree: dict[str, Any], path: list[str], value: str, source: str) -> None:
    if len(path) != 2 or not all(path):  # noqa: PLR2004 - a section and a key
        message = f"{source}: expected a section and a key, such as index.num_shards"
        raise ConfigError(message)
    try:
        parsed = yaml.safe_load(value) if value else ""
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        message = f"{source}: {value!r} is not a YAML value"
        raise ConfigError(message) from error
    tree.setdefault(path[0], {})[path[1]] = parsed


def _validated(tree: Mapping[str, Any]) -> Settings:
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        message = "; ".join(_explain(tree, problem) for problem in error.errors())
        raise ConfigError(message) from error


def _explain(tree: Mapping[str, Any], problem: Mapping[str, Any]) -> str:
    location = [str(part) for part in problem["loc"]]
    name = ".".join(location)
    if problem["type"] != "extra_forbidden":
        text = str(problem["msg"]).removeprefix("Value error, ")
        return f"{name}: {text}, got {problem['input']!r}" if len(location) > 1 else text
    valid = _valid_names()
    candidates = [known for known in valid if "." in known] if "." in name else list(valid)
    if len(location) == 1 and isinstance(tree.get(name), dict) and tree[name]:
        candidates = [known for known in valid if "." not in known]
    near = difflib.get_close_matches(name, candidates, n=1, cutoff=0.0)
    return f"unknown setting {name!r}; did you mean {near[0]!r}?"


def _valid_names() -> list[str]:
    sections = {name: type(section) for name, section in Settings()}
    keys = [f"{name}.{key}" for name, kind in sections.items() for key in kind.model_fields]
    return [*sections, *keys]
