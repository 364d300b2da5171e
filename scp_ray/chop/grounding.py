"""Holds a signature to what its chunk says."""

from dataclasses import replace

from scp_ray.records import Cnm


def grounded(cnm: Cnm, chunk: str) -> Cnm:
    """Return a CNM without its model where the chunk does not name that; case and spaces aside.

    Source: CHOP, "absent or ambiguous = null". That a model which the text does not hold counts as
    absent is our choice: language models make names up.
    """
    if cnm.model is None or _folded(cnm.model) in _folded(chunk):
        return cnm
    return replace(cnm, model=None)


def _folded(text: str) -> str:
    return "".join(text.casefold().split())
