"""Evidence in assembled contexts: how much of it they hold, and at what cost. Pure.

metric               one question counts
-----------------    -----------------------------------------------------------------
evidence_recall      share of the characters of its evidence that the passages hold
evidence_precision   share of the passages' characters that are evidence
evidence_iou         characters of both over characters of either
evidence_coverage    share of the evidence's spans of which the passages hold half, or 100
                     characters
context_redundancy   share of the passages' words in a run that came before, see
                     ``repeated_share``; lower is better
context_documents    documents that the passages are of
context_tokens       tokens of the context
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scp_ray.evaluation.pairing import mean, require_pairs
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import is_enough
from scp_ray.evaluation.repetition import repeated_share
from scp_ray.evaluation.stretches import num_characters, num_shared, union
from scp_ray.retrieval.context import Context


@dataclass(frozen=True, slots=True)
class EvidenceOutcome:
    """How the context of one question fared.

    Attributes:
        query_id: The question.
        recall: Share of the evidence's characters that the passages hold, in [0, 1].
        precision: Share of the passages' characters that are evidence, in [0, 1]; 0 where there
            is no passage.
        iou: Characters that are evidence and in a passage over those that are either, in [0, 1].
        coverage: Share of the spans of which the passages hold enough, in [0, 1].
        redundancy: Share of the passages' words that came before, in [0, 1].
        num_documents: Documents of the passages.
        num_tokens: Tokens of the context.
    """

    query_id: str
    recall: float
    precision: float
    iou: float
    coverage: float
    redundancy: float
    num_documents: int
    num_tokens: int

    @property
    def values(self) -> dict[str, float]:
        """What the question counts in each metric, by name, in the order of this module's table."""
        return {
            "evidence_recall": self.recall,
            "evidence_precision": self.precision,
            "evidence_iou": self.iou,
            "evidence_coverage": self.coverage,
            "context_redundancy": self.redundancy,
            "context_documents": float(self.num_documents),
            "context_tokens": float(self.num_tokens),
        }


@dataclass(frozen=True, slots=True)
class EvidenceReport:
    """How the contexts of the questions of a file fared.

    Attributes:
        outcomes: Every question, in the order of the file; at least one.
    """

    outcomes: tuple[EvidenceOutcome, ...]

    def values(self) -> dict[str, list[float]]:
        """Return what each question counts in each metric, in the order of the file."""
        rows = [outcome.values for outcome in self.outcomes]
        return {name: [row[name] for row in rows] for name in rows[0]}


def evaluate_contexts(queries: Sequence[Query], contexts: Mapping[str, Context]) -> EvidenceReport:
    """Score the contexts that one system assembled.

    A character counts once, also where several spans of the evidence hold it, and spans weigh by
    their length, except in ``coverage``, where each counts one.

    Args:
        queries: Questions with their evidence.
        contexts: The context of each question by query_id.

    Raises:
        QueriesFormatError: If there is no question, or one has no evidence.
        ValueError: If a question has no context, or a context no question.

    Source: recall, precision and intersection over union of characters as in Smith and Troynikov,
    "Evaluating Chunking Strategies for Retrieval" (2024), who count tokens. Precision 0 of an
    empty context is our choice.
    """
    require_pairs(queries, contexts, "contexts")
    return EvidenceReport(tuple(_outcome(query, contexts[query.query_id]) for query in queries))


def _outcome(query: Query, context: Context) -> EvidenceOutcome:
    evidence, passages = union(query.relevant), context.passages
    num_evidence, num_taken = num_characters(evidence), num_characters(passages)
    shared = num_shared(passages, evidence)
    return EvidenceOutcome(
        query.query_id,
        shared / num_evidence,
        shared / num_taken if num_taken else 0.0,
        shared / (num_evidence + num_taken - shared),
        mean([is_enough(num_shared(passages, [span]), span) for span in query.relevant]),
        repeated_share([passage.text for passage in passages]),
        len({passage.doc_id for passage in passages}),
        context.tokens,
    )
