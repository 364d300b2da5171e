"""What the first pass says of every chunk's position: one peak, one a document, or several."""

from typing import Final, NamedTuple

import numpy as np

from scp_ray.evaluation.ablation.config import CellSetting, PriorKind
from scp_ray.protocols import Float64Array, Int64Array
from scp_ray.retrieval.prior import estimate_position_prior
from scp_ray.retrieval.score import position_scores

NUM_FREQUENCIES: Final = 8
"""Frequencies of the codes of ``peaks``: the kernel falls to nothing over 1/8 of a document."""


class FirstPass(NamedTuple):
    """The best chunks by cosine, in rank order.

    Attributes:
        positions: Where they lie in their documents, in [0, 1], shape (k,).
        scores: Their cosines, shape (k,).
        documents: Numbers of their documents, shape (k,).
    """

    positions: Float64Array
    scores: Float64Array
    documents: Int64Array


def position_term(
    hits: FirstPass, positions: Float64Array, documents: Int64Array, setting: CellSetting
) -> Float64Array | None:
    """Return the unweighted position term of every chunk, in [-1, 1], shape (n,).

    Args:
        hits: Of the first pass, at least one.
        positions: Of every chunk, in [0, 1], shape (n,).
        documents: Numbers of their documents, shape (n,).
        setting: The kind of prior, its temperature and gate.

    Returns:
        None where no prior counts.
    """
    if setting.prior is PriorKind.GLOBAL:
        return _one_peak(hits, positions, setting)
    if setting.prior is PriorKind.DOCUMENT:
        return _one_peak_each(hits, positions, documents, setting)
    return several_peaks(hits, positions, setting.prior_temperature)


def _one_peak(
    hits: FirstPass, positions: Float64Array, setting: CellSetting
) -> Float64Array | None:
    prior = estimate_position_prior(
        hits.positions, hits.scores, temperature=setting.prior_temperature
    )
    if prior.concentration < setting.prior_gate:
        return None
    return position_scores(prior, positions)


def _one_peak_each(
    hits: FirstPass, positions: Float64Array, documents: Int64Array, setting: CellSetting
) -> Float64Array | None:
    """Give each document of the first pass a prior of its own hits; the others have none."""
    term = np.zeros(len(positions))
    has_prior = False
    for document in np.unique(hits.documents):
        mine = hits.documents == document
        own = FirstPass(hits.positions[mine], hits.scores[mine], hits.documents[mine])
        rows = np.flatnonzero(documents == document)
        part = _one_peak(own, positions[rows], setting)
        if part is not None:
            term[rows] = part
            has_prior = True
    return term if has_prior else None


def several_peaks(hits: FirstPass, positions: Float64Array, temperature: float) -> Float64Array:
    """Return the density of the hits' positions, as their codes have it.

    The code of a position is ``[sin(pi f p), cos(pi f p)] / sqrt(F)`` for f = 1 to F. Its norm is
    1, so an index that holds it serves both passes. Its product with the mean code of the hits,
    weighted by a softmax of their scores, is a kernel density over positions: a sum of one kernel
    ``mean over f of cos(pi f (p - p_j))`` for each hit, which is 1 at the hit.

    Source: our choice; SCP-HNSW (arXiv:2606.01542) names its single peak as a limit.
    """
    weights = np.exp((hits.scores - np.max(hits.scores)) / temperature)
    weights /= np.sum(weights)
    mean_code = (_codes(hits.positions) * weights[:, np.newaxis]).sum(axis=0)
    density: Float64Array = np.add.reduce(_codes(positions) * mean_code, axis=-1)
    return density


def _codes(positions: Float64Array) -> Float64Array:
    """Return the codes of positions, shape (n, 2 F), norm 1."""
    angles = np.pi * positions[:, np.newaxis] * np.arange(1, NUM_FREQUENCIES + 1)
    codes: Float64Array = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    codes /= np.sqrt(NUM_FREQUENCIES)
    return codes
