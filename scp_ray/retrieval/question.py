"""A question as the shards get it."""

from dataclasses import dataclass

from scp_ray.protocols import Float32Array
from scp_ray.records import QueryParams
from scp_ray.retrieval.bm25 import LexicalQuery


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is searched for: a direction, and words.

    Attributes:
        vector: Unit vector, shape (dim,), float32.
        words: Its words, or None for a question that is a vector.
    """

    vector: Float32Array
    words: LexicalQuery | None = None

    def lexical_weight(self, params: QueryParams) -> float:
        """Return the weight l in force: the one asked for, times the share of known terms.

        A question in another language than the documents, or about what they do not know, has few
        known words, and those by accident. Where all are known the weight is the one asked for.

        Source: our choice, measured in ``docs/tuning.md``.
        """
        if self.words is None or not self.words.idf:
            return 0.0
        num_known = len(self.words.idf)
        return params.lexical_weight * num_known / (num_known + self.words.num_unknown)
