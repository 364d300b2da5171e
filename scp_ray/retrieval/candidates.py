"""Candidates of one shard: the port to its vectors, and lists with a proven bound on the rest."""

import math
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from scp_ray.errors import ConfigError
from scp_ray.protocols import Float32Array, Float64Array, Int64Array
from scp_ray.records import ChunkKey
from scp_ray.retrieval.bm25 import LexicalQuery
from scp_ray.retrieval.exact_scan import largest
from scp_ray.retrieval.positional_code import CODE_DIM

BoolArray: TypeAlias = npt.NDArray[np.bool_]

UNIT_NORM_TOLERANCE = 1e-3
FLOAT32_ROUNDING = 2.0**-24
# Roundings of one float32 inner product beside its d additions: stored vector, query, products.
EXTRA_ROUNDINGS = 16
# Rows of which the best one stands for all, when the best words of a shard are looked for.
_GROUP_ROWS = 64


class ShardSearcher(Protocol):
    """One shard, as the method sees it. Rows are ordered by doc_id, then chunk_index.

    Attributes:
        shard_id: Its number.
        num_chunks: Its rows.
        dim: Length of an embedding.
        code_weight: Weight a of the positional code in its stored vectors.
    """

    shard_id: int
    num_chunks: int
    dim: int
    code_weight: float

    def nearest(
        self, vector: Float32Array, depth: int, *, exact: bool, allowed: BoolArray | None = None
    ) -> tuple[Float32Array, Int64Array]:
        """Return inner products of stored vectors with ``vector``, descending, and their rows.

        Args:
            vector: Shape (dim + 2,), float32.
            depth: Rows wanted, >= 1.
            exact: Scan every vector. Else the graph may miss some, and may return fewer.
            allowed: Rows that may be returned, shape (num_chunks,); None = all.

        Returns:
            At least ``min(depth, rows there are)`` rows if ``exact``, each at most once, and no
            row left out has a larger product than the last one returned.
        """
        ...

    def keys(self, rows: Int64Array) -> list[ChunkKey]:
        """Return which chunks the rows hold."""
        ...

    def positions(self, rows: Int64Array) -> Float64Array:
        """Return the rows' positions in their documents, as ``positional_code.position``."""
        ...

    def embeddings(self, rows: Int64Array) -> Float32Array:
        """Return the rows' unit vectors as the encoder made them, shape (n, dim)."""
        ...

    def lexical_scores(self, words: LexicalQuery) -> Float64Array:
        """Return BM25 over its bound of every row, in [0, 1], shape (num_chunks,).

        The terms are added up in the order of ``words.weights``, as ``bm25.term_scores`` has them.
        """
        ...


class CandidateList(NamedTuple):
    """Rows worth scoring in full.

    Attributes:
        rows: Shape (n,), each row once, in no order.
        bound: No eligible row that is not listed has a score above it, as far as the graph missed
            nothing; -inf when all are listed.
    """

    rows: Int64Array
    bound: float


def check_query(query: Float32Array, dim: int) -> None:
    """Refuse a query vector that is not a finite unit vector of ``dim`` numbers.

    Raises:
        ConfigError: If it is not.
    """
    if query.shape != (dim,):
        message = f"the query vector has shape {query.shape}, the index wants ({dim},)"
        raise ConfigError(message)
    norm = float(np.linalg.norm(query))
    if not abs(norm - 1.0) <= UNIT_NORM_TOLERANCE:  # also refuses NaN
        message = f"the query vector has norm {norm}, the index wants 1"
        raise ConfigError(message)


def nearest_candidates(
    shard: ShardSearcher,
    vector: Float32Array,
    depth: int,
    *,
    exact: bool,
    allowed: BoolArray | None,
) -> CandidateList:
    """Return the ``depth`` best rows or more by ``vector``, with the bound on all others.

    A graph search that comes back short becomes an exact one.

    Args:
        shard: Where to look.
        vector: A vector of ``positional_code``, shape (dim + 2,).
        depth: Rows wanted, >= 1; all rows are listed when there are no more.
        exact: Whether to scan even without a filter.
        allowed: Filter over the shard's rows, or None.
    """
    if allowed is None and depth >= shard.num_chunks:
        return CandidateList(np.arange(shard.num_chunks), -math.inf)
    if allowed is not None and depth >= np.count_nonzero(allowed):
        return CandidateList(np.flatnonzero(allowed), -math.inf)
    if not np.any(vector):  # words alone count, and every vector has the same product with it
        return CandidateList(np.empty(0, dtype=np.int64), 0.0)
    products, rows = shard.nearest(vector, depth, exact=exact, allowed=allowed)
    if len(rows) < depth:
        products, rows = shard.nearest(vector, depth, exact=True, allowed=allowed)
    last = float(products[-1]) + _rounding_slack(vector)
    return CandidateList(rows, last * math.hypot(1.0, shard.code_weight))


def lexical_candidates(
    scores: Float64Array, depth: int, allowed: BoolArray | None
) -> CandidateList:
    """Return the ``depth`` best rows by their words, or all that have any, with the bound.

    Args:
        scores: Lexical score of every row of a shard, in [0, 1], shape (num_chunks,).
        depth: Rows wanted, >= 1.
        allowed: Filter over the rows, or None.
    """
    eligible = scores if allowed is None else np.where(allowed, scores, 0.0)
    least = _least_of_best(eligible, depth)
    values, rows = largest(eligible, depth, eligible >= least if least else eligible > 0.0)
    return CandidateList(rows, float(values[-1]) if len(rows) == depth else 0.0)


def _least_of_best(scores: Float64Array, depth: int) -> float:
    """Return a score that ``depth`` rows or more have or exceed, near the last of them; or 0.

    Each group of rows has a best one, and ``depth`` groups have one as good as the value: that
    leaves few rows to sort, and reads the scores only once.
    """
    num_groups = len(scores) // _GROUP_ROWS
    if depth > num_groups:
        return 0.0
    best = scores[: num_groups * _GROUP_ROWS].reshape(_GROUP_ROWS, num_groups).max(axis=0)
    return float(np.partition(best, num_groups - depth)[num_groups - depth])


def _rounding_slack(vector: Float32Array) -> float:
    """Bound the error of a float32 inner product of ``vector`` with a unit vector."""
    roundings = len(vector) - CODE_DIM + EXTRA_ROUNDINGS
    norm = float(np.linalg.norm(vector)) * (1.0 + UNIT_NORM_TOLERANCE)
    return roundings * FLOAT32_ROUNDING * norm
