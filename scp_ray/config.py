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
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from scp_ray.errors import ConfigError
from scp_ray.records import QueryParams
from scp_ray.sections import (
    ChopConfig,
    ChunkingConfig,
    ClusterConfig,
    ContextConfig,
    CorpusConfig,
    EmbeddingConfig,
    IndexConfig,
    LexicalConfig,
    LlmConfig,
    OpenAiConfig,
    PublishConfig,
    RerankConfig,
    RetrievalConfig,
    SearchMode,
    Section,
    ServeConfig,
    VllmConfig,
)
from scp_ray.yaml_file import read_yaml

ENV_PREFIX = "SCP_RAY__"


class Settings(Section):
    """All settings of scp_ray."""

    corpus: CorpusConfig = CorpusConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    chop: ChopConfig = ChopConfig()
    llm: LlmConfig = LlmConfig()
    vllm: VllmConfig = VllmConfig()
    openai: OpenAiConfig = OpenAiConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    index: IndexConfig = IndexConfig()
    lexical: LexicalConfig = LexicalConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    context: ContextConfig = ContextConfig()
    rerank: RerankConfig = RerankConfig()
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


def openai_api_key(file: str | None) -> str | None:
    """Return the key of an OpenAI-compatible server, from a file or ``OPENAI_API_KEY``.

    Raises:
        ConfigError: If the file cannot be read.
    """
    if file is None:
        return os.environ.get("OPENAI_API_KEY")
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"openai.api_key_file {file}: {error}"
        raise ConfigError(message) from error


def set_engine_environment(variables: Mapping[str, str]) -> None:
    """Set what an engine of vLLM reads from the environment, but for what is set already."""
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def bound_out_of_memory_retries(tries: int) -> None:
    """Have Ray give up on a task after so many tries that ran out of memory; else it never does.

    The process that starts the tasks reads it when it joins a cluster; a value that is set stays.
    """
    os.environ.setdefault("RAY_task_oom_retries", str(tries))


def have_serve_favour_throughput() -> None:
    """Have Ray Serve call replicas directly by gRPC, on one event loop each; what is set stays.

    Its processes read it when they start, so it must be there before the cluster is. Ports of
    replicas beside the proxy, which that mode opens too, are not wanted: they would take
    requests past ``serve.port``, and half a minute to close.
    """
    os.environ.setdefault("RAY_SERVE_THROUGHPUT_OPTIMIZED", "1")
    os.environ.setdefault("RAY_SERVE_ENABLE_DIRECT_INGRESS", "0")


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
    tree = read_yaml(file, f"settings file {file}") or {}
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
