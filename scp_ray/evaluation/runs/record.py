"""What one evaluation of an index has: questions with their results, sweeps, and worst answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from scp_ray.evaluation.bootstrap import mean_interval
from scp_ray.evaluation.evidence import EvidenceReport
from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.metrics import EvaluationReport
from scp_ray.evaluation.queries import Query, fingerprint
from scp_ray.evaluation.relevance import HitSpan, RelevantSpan
from scp_ray.evaluation.report import at_budget

Values: TypeAlias = Mapping[str, Sequence[float]]
"""What each question counts in each metric, in the order of the questions."""


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """One result, as the reply has it."""

    doc_id: str
    chunk_index: int
    char_start: int
    char_end: int
    position: float
    score: float
    semantic_score: float
    lexical_score: float
    position_score: float

    @property
    def span(self) -> HitSpan:
        """Where it lies."""
        return HitSpan(self.doc_id, self.char_start, self.char_end)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question and how it was answered.

    Attributes:
        query: The question with its evidence.
        results: At most ten, best first.
        prior_position: Where the prior lay; None where there was none for all shards.
        prior_concentration: How sure it was.
        is_prior_applied: Whether position counted.
        lexical_weight: Weight that the words had.
        timings_ms: Milliseconds of each step.
    """

    query: Query
    results: tuple[FoundChunk, ...]
    prior_position: float | None
    prior_concentration: float | None
    is_prior_applied: bool
    lexical_weight: float
    timings_ms: Mapping[str, float] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk of the second pass with the terms of its score and the gap rule's verdict."""

    chunk_index: int
    doc_id: str
    score: float
    semantic_score: float
    lexical_score: float
    position_score: float
    is_kept: bool
    near: int | None = None


@dataclass(frozen=True, slots=True)
class SoughtSpan:
    """What became of a span of the evidence.

    Attributes:
        span: Where it lies.
        text: Its characters, as far as chunks that were looked at hold them.
        chunk: The best chunk that covers it; None where none does.
        rank: Rank of that chunk before the gap rule; None where it is beyond those looked at.
    """

    span: RelevantSpan
    text: str
    chunk: FoundChunk | None
    rank: int | None


@dataclass(frozen=True, slots=True)
class ExplainedQuestion:
    """Why an answer is bad.

    Attributes:
        asked: The question.
        candidates: Those that the gap rule decided on, in rank order.
        first_text: Text of the first result; empty where there is none.
        sought: Its evidence, the first spans of it.
        num_looked_at: Chunks of the ranking that evidence was looked for in.
    """

    asked: AskedQuestion
    candidates: tuple[Candidate, ...]
    first_text: str
    sought: tuple[SoughtSpan, ...]
    num_looked_at: int


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """What each question counts with a setting at one value."""

    value: float
    values: Values


@dataclass(frozen=True, slots=True)
class Sweep:
    """The same questions with a setting at several values.

    Attributes:
        title: What is shown.
        setting: Its name among the settings.
        in_force: Its value in the evaluation; 0 for a budget where there are no contexts.
        points: By ascending value.
    """

    title: str
    setting: str
    in_force: float
    points: tuple[SweepPoint, ...]

    @property
    def num_questions(self) -> int:
        """Questions that were asked at each value."""
        return len(next(iter(self.points[0].values.values())))

    @property
    def base(self) -> SweepPoint | None:
        """The point of the value in force."""
        return next((point for point in self.points if point.value == self.in_force), None)


@dataclass(frozen=True)
class EvaluationRun:
    """One evaluation.

    Attributes:
        index: Address of the index, as it was given.
        generation: The generation that answered.
        encoder: Its encoder.
        queries_file: Name of the query file.
        settings: Sections of the settings that an answer depends on.
        budget: Most tokens of a context; 0 = no contexts.
        asked: Every question, in the order of the file.
        ranking: Metrics of the results.
        evidence: Metrics of the contexts; None without a budget.
        num_characters: Length of each document's text by doc_id.
        sweeps: Empty unless files are wanted.
        explained: The worst answers, worst first; empty unless files are wanted.
    """

    index: str
    generation: int
    encoder: str
    queries_file: str
    settings: Mapping[str, Any]
    budget: int
    asked: tuple[AskedQuestion, ...]
    ranking: EvaluationReport
    evidence: EvidenceReport | None
    num_characters: Mapping[str, int]
    sweeps: tuple[Sweep, ...] = ()
    explained: tuple[ExplainedQuestion, ...] = ()

    @cached_property
    def values(self) -> Values:
        """What each question counts in each metric, those of contexts last."""
        contexts = at_budget(self.evidence, self.budget) if self.evidence else {}
        return {**self.ranking.values(), **contexts}

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """Mean and 95 % interval of each metric."""
        return {name: mean_interval(column) for name, column in self.values.items()}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the questions and their evidence."""
        return fingerprint([one.query for one in self.asked])
