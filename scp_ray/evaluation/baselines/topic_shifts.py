"""CHOP's baseline Cosine-Chunking: a new chunk where neighbouring sentences differ in topic."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from scp_ray.evaluation.baselines.sentence_windows import Stretch
from scp_ray.protocols import Float32Array

Embed: TypeAlias = Callable[[Sequence[str]], Float32Array]
"""Returns a unit vector a text, shape (n, dim), float32."""


def topic_stretches(sentences: Sequence[str], embed: Embed, threshold: float) -> list[Stretch]:
    """Return the stretches of sentences whose neighbours have a cosine of at least ``threshold``.

    Args:
        sentences: In text order, at least one.
        embed: Called once, with all of them.
        threshold: In [-1, 1].

    Source: CHOP (arXiv:2604.15802), the baseline Cosine-Chunking: a topic shift between sentences,
        threshold 0.35. That only neighbours are compared is our reading.
    """
    vectors = embed(sentences)
    cosines = np.einsum("ij,ij->i", vectors[:-1], vectors[1:], dtype=np.float64)
    shifts = (np.flatnonzero(cosines < threshold) + 1).tolist()
    bounds = [0, *shifts, len(sentences)]
    return [Stretch(first, end) for first, end in pairwise(bounds)]
