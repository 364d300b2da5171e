"""Values that pass between the layers: frozen, without behaviour beyond what derives from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TypeAlias

MetadataValue: TypeAlias = str | float | int | bool
Metadata: TypeAlias = Mapping[str, MetadataValue]


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its identity; the unit of CHOP work and of sharding.

    Attributes:
        doc_id: Stable name; the path under the corpus root, or the row's own id.
        text: The decoded file as it is, or what the parser of its format made. Offsets count its
            code points.
        source_uri: Where it was read, for people.
        metadata: Flat map of strings, numbers and booleans.
    """

    doc_id: str
    text: str
    source_uri: str
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """Where one chunk lies in its document.

    Attributes:
        char_start: First code point, 0-based.
        char_end: One past the last code point.
        num_tokens: Tokens of ``text[char_start:char_end]`` on its own, special tokens not counted.
    """

    char_start: int
    char_end: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class Cnm:
    """A CHOP signature: product category, up to two nouns, model. Any field may be missing."""

    category: str | None = None
    nouns: tuple[str, ...] = ()
    model: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no field is known."""
        return self.category is None and not self.nouns and self.model is None


EMPTY_CNM = Cnm()


@dataclass(frozen=True, slots=True)
class ChunkAnnotation:
    """What CHOP decided for one chunk.

    Attributes:
        cnm: The signature that is in force at this chunk.
        starts_span: True for the first chunk of a span of continuity.
    """

    cnm: Cnm
    starts_span: bool


@dataclass(frozen=True, slots=True)
class AnnotationUsage:
    """What annotating took; all are counts.

    Attributes:
        decisions: Pairs of neighbouring chunks that were decided on.
        extractions: Spans, each with one signature extracted.
        llm_calls: Requests that reached a language model, repeated ones too.
        cache_hits: Requests that were answered before.
        retries: Requests repeated because the answer could not be used.
        fallbacks: Requests that never got a usable answer.
        prompt_tokens: Of the requests.
        cached_prompt_tokens: Those of them that the engine had in its prefix cache.
        output_tokens: Of the answers.
    """

    decisions: int = 0
    extractions: int = 0
    llm_calls: int = 0
    cache_hits: int = 0
    retries: int = 0
    fallbacks: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "AnnotationUsage") -> "AnnotationUsage":
        """Add up field by field."""
        names = (field.name for field in fields(self))
        return AnnotationUsage(*(getattr(self, name) + getattr(other, name) for name in names))


NO_USAGE = AnnotationUsage()


@dataclass(frozen=True, slots=True)
class ActivePeriod:
    """When a language model was asked about a document.

    Attributes:
        engine: Names the process that asked: ``<host>:<process id>``.
        began: Seconds of Unix time.
        ended: Seconds of Unix time.
    """

    engine: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class AnnotatedDocument:
    """One document's annotations, or why there are none.

    Attributes:
        annotations: One a chunk, in chunk order; empty when it failed.
        usage: What it took.
        failure: One sentence; the document is to be quarantined. None when it went well.
        active: When it was worked on; None where no language model is asked.
    """

    annotations: list[ChunkAnnotation]
    usage: AnnotationUsage = NO_USAGE
    failure: str | None = None
    active: ActivePeriod | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class ChunkKey:
    """Names one chunk; its order (doc_id, then chunk_index) breaks ties of scores."""

    doc_id: str
    chunk_index: int


@dataclass(frozen=True, slots=True)
class PositionPrior:
    """The first pass's estimate of where in a document the answer lies.

    Attributes:
        position: Mean position in [0, 1].
        concentration: How much the hits agree, in [0, 1]; 0 = no preference.
    """

    position: float
    concentration: float


class PriorScope(StrEnum):
    """Whether all shards share one prior (a barrier between the passes) or each has its own."""

    GLOBAL = "global"
    SHARD = "shard"


class ContextRule(StrEnum):
    """What an assembled context is made of."""

    MERGE = "merge"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class QueryParams:
    """How one question is to be answered; see ``scp_ray.sections.RetrievalConfig`` for defaults.

    Attributes:
        top_k: Results wanted, >= 1.
        min_index_gap: Least distance of chunk_index between two results of a document; 1 = off.
        position_weight: Weight w of the position term, >= 0; 0 leaves position out.
        lexical_weight: Weight l of the words against the vectors, in [0, 1], for a question whose
            terms are all known; 0 = vectors alone.
        first_pass_candidates: Hits of the first pass that form the prior, >= 1.
        prior_temperature: Softmax temperature over their scores, > 0.
        prior_gate: Least concentration in [0, 1] at which the position term is used.
        prior_scope: One prior for all shards, or one each.
        exact: Scan every vector instead of walking the graph.
        num_ranked: Chunks of the ranking wanted as it is before the gap rule, >= 0.
    """

    top_k: int
    min_index_gap: int
    position_weight: float
    lexical_weight: float
    first_pass_candidates: int
    prior_temperature: float
    prior_gate: float
    prior_scope: PriorScope = PriorScope.GLOBAL
    exact: bool = False
    num_ranked: int = 0


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk with its score and the unweighted terms of it.

    Attributes:
        key: Which chunk.
        position: chunk_index / (num_chunks - 1); 0.5 for a one-chunk document.
        score: ``(1 - l) * semantic_score + l * lexical_score + w * position_score``.
        semantic_score: Cosine of question and chunk, in [-1, 1].
        lexical_score: BM25 over its bound, in [0, 1]; 0 where words did not count.
        position_score: ``cos(pi (position - mu))`` in [-1, 1]; 0 where no prior applies.
        row: Row of the chunk in its shard's files.
        shard_id: The shard that holds it.
    """

    key: ChunkKey
    position: float
    score: float
    semantic_score: float
    lexical_score: float
    position_score: float
    row: int
    shard_id: int

    @property
    def rank_key(self) -> tuple[float, str, int]:
        """Sorts ascending into the one ranking: score descending, doc_id, chunk_index."""
        return (-self.score, self.key.doc_id, self.key.chunk_index)


class DecisionReason(StrEnum):
    """Why the gap selector kept or dropped a candidate."""

    KEPT = "kept"
    TOO_NEAR = "too_near"


@dataclass(frozen=True, slots=True)
class Decision:
    """The gap selector's verdict on one candidate.

    Attributes:
        candidate: The chunk that was looked at.
        reason: Kept, or too near to a better one.
        near: chunk_index of the kept chunk of the same document it was too near to (the best
            ranked, if several); None when kept.
    """

    candidate: ScoredChunk
    reason: DecisionReason
    near: int | None = None

    @property
    def kept(self) -> bool:
        """Whether the chunk is a result."""
        return self.reason is DecisionReason.KEPT


@dataclass(frozen=True, slots=True)
class Selection:
    """What the second pass of one shard, or of all of them merged, came to.

    Attributes:
        decisions: Every candidate down to the last kept one, in rank order.
        exhausted: True when fewer than ``top_k`` eligible chunks exist and all were seen.
        ranking: The first ``num_ranked`` chunks of the ranking before the gap rule, in rank
            order, or in the order of a rerank; fewer only where the index has no more.
        num_deepenings: Times that a shard had to be searched again for more candidates.
    """

    decisions: tuple[Decision, ...]
    exhausted: bool
    ranking: tuple[ScoredChunk, ...] = ()
    num_deepenings: int = field(default=0, compare=False)

    @property
    def kept(self) -> list[ScoredChunk]:
        """The results in rank order."""
        return [decision.candidate for decision in self.decisions if decision.kept]


class Stemmer(StrEnum):
    """What becomes of the endings of words."""

    NONE = "none"
    LIGHT = "light"
