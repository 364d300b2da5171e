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
        """Return the weight l in force: 0 for a question without known words."""
        return params.lexical_weight if self.words and self.words.idf else 0.0
