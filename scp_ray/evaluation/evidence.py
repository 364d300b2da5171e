"""Evidence in assembled contexts: how much of it they hold, and at what cost. Pure.

metric       one question counts
---------    ---------------------------------------------------------------------
recall       share of the characters of its evidence that the passages hold
precision    share of the passages' characters that are evidence
tokens       tokens of the context
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scp_ray.evaluation.pairing import mean, require_pairs
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.retrieval.context import Context


@dataclass(frozen=True, slots=True)
class EvidenceOutcome:
    """How the context of one question fared.

    Attributes:
        query_id: The question.
        recall: Share of the evidence's characters that the passages hold, in [0, 1].
        precision: Share of the passages' characters that are evidence, in [0, 1]; 0 where there
            is no passage.
        num_tokens: Tokens of the context.
    """

    query_id: str
    recall: float
    precision: float
    num_tokens: int


@dataclass(frozen=True, slots=True)
class EvidenceReport:
    """Means over the questions of a file.

    Attributes:
        outcomes: Every question, in the order of the file; at least one.
    """

    outcomes: tuple[EvidenceOutcome, ...]

    @property
    def recall(self) -> float:
        """Mean evidence recall."""
        return mean([outcome.recall for outcome in self.outcomes])

    @property
    def precision(self) -> float:
        """Mean evidence precision."""
        return mean([outcome.precision for outcome in self.outcomes])

    @property
    def num_tokens(self) -> float:
        """Mean tokens of a context."""
        return mean([outcome.num_tokens for outcome in self.outcomes])


def evaluate_contexts(queries: Sequence[Query], contexts: Mapping[str, Context]) -> EvidenceReport:
    """Score the contexts that one system assembled.

    A character counts once, also where several spans of the evidence hold it, and spans weigh by
    their length.

    Args:
        queries: Questions with their evidence.
        contexts: The context of each question by query_id.

    Raises:
        QueriesFormatError: If there is no question, or one has no evidence.
        ValueError: If a question has no context, or a context no question.

    Source: recall and precision of characters as in Smith and Troynikov, "Evaluating Chunking
    Strategies for Retrieval" (2024), who count tokens. Precision 0 of an empty context is our
    choice.
    """
    require_pairs(queries, contexts, "contexts")
    return EvidenceReport(tuple(_outcome(query, contexts[query.query_id]) for query in queries))


def _outcome(query: Query, context: Context) -> EvidenceOutcome:
    evidence = _disjoint(query.relevant)
    num_evidence = sum(span.char_end - span.char_start for span in evidence)
    num_taken = sum(passage.char_end - passage.char_start for passage in context.passages)
    # Neither the passages nor the spans overlap among themselves, so no character counts twice.
    num_shared = sum(
        max(min(passage.char_end, span.char_end) - max(passage.char_start, span.char_start), 0)
        for passage in context.passages
        for span in evidence
        if passage.doc_id == span.doc_id
    )
    return EvidenceOutcome(
        query.query_id,
        num_shared / num_evidence,
        num_shared / num_taken if num_taken else 0.0,
        context.tokens,
    )


def _disjoint(spans: Iterable[RelevantSpan]) -> list[RelevantSpan]:
    """Return spans that hold the same characters, each once."""
    disjoint: list[RelevantSpan] = []
    for span in sorted(spans, key=lambda span: (span.doc_id, span.char_start)):
        last = disjoint[-1] if disjoint else None
        if last and last.doc_id == span.doc_id and span.char_start <= last.char_end:
            char_end = max(last.char_end, span.char_end)
            disjoint[-1] = RelevantSpan(span.doc_id, last.char_start, char_end)
        else:
            disjoint.append(span)
    return disjoint
