"""The JSON of a question and of its answer, as HTTP and ``scp-ray query --json`` speak it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    InstanceOf,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from scp_ray.config import Settings
from scp_ray.errors import ConfigError
from scp_ray.records import ContextRule, DecisionReason, MetadataValue, PriorScope
from scp_ray.retrieval.context import SkipReason

QUESTION = "question"  # the group in ``degraded`` for a question that was cut
LATE = "deadline passed"  # the reason in ``degraded`` of what did not answer in time

Score = Annotated[float, Field(description="higher is better")]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class QueryRequest(_Model):
    """A question and how to answer it; what is left out follows the service's settings."""

    query: Annotated[str, Field(min_length=1, max_length=2**20)] | None = None
    embedding: Annotated[list[float], Field(min_length=1, max_length=65_536)] | None = None
    top_k: Annotated[int, Field(ge=1, le=1000)] | None = None
    min_index_gap: Annotated[int, Field(ge=1)] | None = None
    position_weight: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    lexical_weight: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    prior_scope: PriorScope | None = None
    filter: dict[str, Any] | None = None
    exact: bool | None = None
    max_context_tokens: Annotated[int, Field(ge=0, le=100_000)] | None = None
    context_rule: ContextRule | None = None
    explain: bool = False
    strict: bool = False
    deadline_ms: Annotated[int, Field(ge=1, le=600_000)] | None = None

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if (self.query is None) == (self.embedding is None):
            message = "give exactly one of query and embedding"
            raise ValueError(message)
        if self.query is not None and not self.query.strip():
            message = "query is empty"
            raise ValueError(message)
        return self

    @classmethod
    def checked(cls, values: Mapping[str, object]) -> "QueryRequest":
        """Make a request of values from a command line.

        Raises:
            ConfigError: If a value is out of range; it is named.
        """
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            message = "; ".join(
                f"{'.'.join(str(part) for part in problem['loc']) or 'question'}: {problem['msg']}"
                for problem in error.errors()
            )
            raise ConfigError(message) from error

    @property
    def overrides(self) -> dict[str, Any]:
        """The retrieval settings that this question changes."""
        return self.model_dump(
            include={
                "top_k",
                "min_index_gap",
                "position_weight",
                "lexical_weight",
                "prior_scope",
                "exact",
            }
        )


class CnmModel(_Model):
    """A CHOP signature."""

    category: str | None
    nouns: list[str]
    model: str | None


class ResultModel(_Model):
    """One chunk that was found; the three partial scores are unweighted.

    ``rerank_score`` decides the order where it is there: the cross-encoder's own number, on no
    fixed scale.
    """

    doc_id: str
    chunk_index: int
    num_chunks: int
    char_start: int
    char_end: int
    text: str
    score: Score
    semantic_score: Score
    lexical_score: Score
    position_score: Score
    rerank_score: Score | None
    position: float
    cnm: CnmModel
    source_uri: str
    metadata: dict[str, MetadataValue]
    shard_id: int


class PriorModel(_Model):
    """Where in a document the first pass expects the answer.

    ``position`` and ``concentration`` are null with ``prior_scope: shard``, where every shard has
    a prior of its own, and on an index without chunks.
    """

    position: float | None
    concentration: float | None
    applied: bool


class LexicalModel(_Model):
    """The weight that words had, and how many distinct terms of the question the index knows.

    ``weight`` is the l of ``score = (1 - l) semantic + l lexical + w position``: the one asked for
    times the share of known terms. It is 0 when none is known or the question is a vector.
    Where no weight is asked for, terms are not looked up and both counts are 0.
    """

    weight: float
    known_terms: int
    unknown_terms: int


class PassageModel(_Model):
    """A stretch of one document's text in the context, and the chunks that it was made of."""

    doc_id: str
    char_start: int
    char_end: int
    text: str
    chunk_indexes: list[int]
    score: Score


class SkippedModel(_Model):
    """A chunk that is not in the context."""

    doc_id: str
    chunk_index: int
    reason: SkipReason


class ContextModel(_Model):
    """The assembled context; ``tokens`` is the sum over the passages."""

    rule: ContextRule
    tokens: int
    passages: list[PassageModel]
    skipped: list[SkippedModel]


class CoverageModel(_Model):
    """How much of the index answered."""

    shards_ok: int
    shards_total: int
    documents: int


class DegradedModel(_Model):
    """What did not contribute in full: a group of shards, or a part of the answer.

    ``group`` is the name of the group, or ``question`` (cut for its vector), ``rerank`` or
    ``context`` (late). Only groups count for ``strict``.
    """

    group: str
    reason: str


class CandidateModel(_Model):
    """A chunk that a pass looked at."""

    doc_id: str
    chunk_index: int
    position: float
    score: Score
    semantic_score: Score
    lexical_score: Score
    position_score: Score
    rerank_score: Score | None


class DecisionModel(_Model):
    """The gap selector's verdict on a candidate."""

    doc_id: str
    chunk_index: int
    kept: bool
    reason: DecisionReason
    near: int | None


class AuditModel(_Model):
    """Everything that led to the results."""

    first_pass: list[CandidateModel]
    second_pass: list[CandidateModel]
    decisions: list[DecisionModel]


class QueryReply(_Model):
    """The answer to a question."""

    generation: int
    results: list[ResultModel]
    context: ContextModel | None
    prior: PriorModel
    lexical: LexicalModel
    coverage: CoverageModel
    degraded: list[DegradedModel]
    exhausted: bool
    timings_ms: dict[str, float]
    audit: AuditModel | None


class ProblemModel(_Model):
    """Why a request, or one question of a batch, was not answered (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


@dataclass(frozen=True, slots=True)
class MalformedQuestion:
    """What stands in a batch in the place of a question.

    Attributes:
        error: Why it is none.
    """

    error: Exception


class BatchRequest(_Model):
    """Questions that are answered together."""

    queries: Annotated[
        list[QueryRequest | SkipJsonSchema[InstanceOf[MalformedQuestion]]],
        Field(min_length=1, max_length=1000),
    ]


class BatchItem(_Model):
    """One question's answer, or why there is none."""

    reply: QueryReply | None
    problem: ProblemModel | None


class BatchReply(_Model):
    """The answers, in the order of the questions."""

    items: list[BatchItem]


class ReloadState(StrEnum):
    """Where the service is with the newest generation."""

    CURRENT = "current"
    LOADING = "loading"
    FAILED = "failed"
    UNREADABLE = "unreadable"


class ReloadModel(_Model):
    """The newest generation seen, and why it is not served where it is not.

    ``unreadable`` says that ``CURRENT`` is missing or cannot be read, so that there may be a newer
    one; what is served goes on being served.
    """

    state: ReloadState
    generation: int
    reason: str | None


class DefaultsModel(_Model):
    """What holds where a question does not say: the settings of the service."""

    top_k: int
    min_index_gap: int
    position_weight: float
    lexical_weight: float
    max_context_tokens: int
    context_rule: ContextRule

    @classmethod
    def of(cls, settings: Settings) -> "DefaultsModel":
        """Return the defaults that these settings make."""
        retrieval, context = settings.retrieval, settings.context
        return cls(
            top_k=retrieval.top_k,
            min_index_gap=retrieval.min_index_gap,
            position_weight=retrieval.position_weight,
            lexical_weight=retrieval.lexical_weight,
            max_context_tokens=context.max_tokens,
            context_rule=context.rule,
        )


class IndexInfo(_Model):
    """What the service serves; ``groups`` is 1 where the front holds all shards itself."""

    generation: int
    created_at: str
    documents: int
    chunks: int
    shards: int
    groups: int
    encoder: str
    annotator: str
    settings_hash: str
    defaults: DefaultsModel
    reload: ReloadModel
