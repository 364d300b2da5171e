"""The position prior: where in a document the first pass says that the answer lies."""

import math

import numpy as np

from scp_ray.protocols import Float64Array
from scp_ray.records import PositionPrior, QueryParams
from scp_ray.retrieval.positional_code import positional_code

# Length of the mean code of positions spread evenly over [0, 1]: the integral of sin(pi p).
UNIFORM_LENGTH = 2.0 / math.pi


def estimate_position_prior(
    positions: Float64Array, scores: Float64Array, *, temperature: float
) -> PositionPrior:
    """Estimate where in a document the answer lies, from first-pass hits.

    The codes of the hits are averaged with softmax weights. The direction of the mean is the
    position; its length R says how much the hits agree, and counts from where evenly spread hits
    would put it: ``concentration = (R - 2/pi) / (1 - 2/pi)``, clipped to [0, 1].

    Args:
        positions: Relative chunk positions in [0, 1], shape (k,), float64, in rank order: the
            order of the hits decides the last bit of the result.
        scores: First-pass scores, shape (k,), higher is better.
        temperature: Softmax temperature, > 0; smaller trusts the best hit more.

    Raises:
        ValueError: If the arrays differ in length or are empty, or ``temperature`` <= 0.

    Source: SCP-HNSW (arXiv:2606.01542) averages over the hits' indices and scores; mean of codes,
        softmax and concentration are our choices.
    """
    if len(positions) != len(scores) or len(positions) == 0 or temperature <= 0.0:
        message = (
            f"a prior needs as many positions as scores, at least one, and a temperature > 0; "
            f"got {len(positions)}, {len(scores)} and {temperature}"
        )
        raise ValueError(message)
    weights = np.exp((scores - np.max(scores)) / temperature)
    weights /= np.sum(weights)
    sine, cosine = (positional_code(positions) * weights[:, np.newaxis]).sum(axis=0).tolist()
    concentration = (math.hypot(sine, cosine) - UNIFORM_LENGTH) / (1.0 - UNIFORM_LENGTH)
    return PositionPrior(
        position=min(max(math.atan2(sine, cosine) / math.pi, 0.0), 1.0),
        concentration=min(max(concentration, 0.0), 1.0),
    )


def prior_in_force(prior: PositionPrior | None, params: QueryParams) -> PositionPrior | None:
    """Return the prior if position counts in this query, else None.

    It counts when there is a prior, ``position_weight`` is over 0 and the concentration is at
    least ``prior_gate``.
    """
    if prior is None or params.position_weight == 0.0:
        return None
    return prior if prior.concentration >= params.prior_gate else None
