"""Holds a signature to what its chunk says."""

import re
import unicodedata
from dataclasses import replace

from scp_ray.records import Cnm

_UNWRITTEN = str.maketrans("", "", "*™®©")  # emphasis and signs that a name is repeated without


def grounded(cnm: Cnm, chunk: str) -> Cnm:
    """Return a CNM without its model where the chunk does not name that.

    Case, spaces, kinds of dashes and ways to write one character do not count; a name is not part
    of a longer word or number.

    Source: CHOP, "absent or ambiguous = null". That a model which the text does not hold counts as
    absent is our choice: language models make names up.
    """
    if cnm.model is None or _names(_folded(chunk), _folded(cnm.model)):
        return cnm
    return replace(cnm, model=None)


def _names(text: str, name: str) -> bool:
    letters = r"\s*".join(map(re.escape, "".join(name.split())))
    return re.search(rf"(?<![0-9a-z]){letters}(?![0-9a-z])", text) is not None


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text.translate(_UNWRITTEN)).casefold()
    if folded.isascii():
        return folded
    kinds = ((one, unicodedata.category(one)) for one in folded)
    return "".join("-" if kind == "Pd" else one for one, kind in kinds if kind != "Cf")
