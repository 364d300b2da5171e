"""Strict reading of a CNM: what a language model returns, and any other raw fields.

Everything that is not exactly a CNM is an AnnotationError; nothing is guessed or repaired beyond
white space and the words by which models spell a missing value.
"""

import json
import unicodedata
from collections.abc import Iterable
from typing import Any

from scp_ray.errors import AnnotationError
from scp_ray.records import Cnm

MAX_FIELD_CHARACTERS = 120
MAX_NOUNS = 2
MAX_CNM_JSON_CHARACTERS = 4096

_KEYS = ("category", "nouns", "model")
_MISSING = frozenset({"", "null", "none", "n/a"})
_REFUSED_CATEGORIES = frozenset({"Cc", "Cs"})  # control characters; surrogates are not text


def parse_cnm(text: str) -> Cnm:
    """Parse a CNM from JSON.

    Args:
        text: One JSON object with exactly the keys ``category`` (string or null), ``nouns``
            (array of 0 to 2 strings, or null) and ``model`` (string or null). Strings are
            stripped and their white space folded; ``""``, ``"null"``, ``"none"`` and ``"n/a"``
            in any case count as missing. Fields have at most ``MAX_FIELD_CHARACTERS``.

    Raises:
        AnnotationError: If the text is anything else.
    """
    if len(text) > MAX_CNM_JSON_CHARACTERS:
        message = f"CNM of {len(text)} characters, the most is {MAX_CNM_JSON_CHARACTERS}"
        raise AnnotationError(message)
    try:
        tree = json.loads(text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        message = f"CNM is not JSON: {error}"
        raise AnnotationError(message) from error
    if not isinstance(tree, dict) or set(tree) != set(_KEYS):
        found = sorted(tree) if isinstance(tree, dict) else type(tree).__name__
        message = f"CNM must be an object with the keys {list(_KEYS)}, got {_shown(found)}"
        raise AnnotationError(message)
    nouns = [] if tree["nouns"] is None else tree["nouns"]
    if not isinstance(nouns, list):
        message = f"CNM nouns must be an array or null, got {_shown(nouns)}"
        raise AnnotationError(message)
    return clean_cnm(tree["category"], nouns, tree["model"])


def clean_cnm(category: object, nouns: Iterable[object], model: object) -> Cnm:
    """Make a CNM of raw fields, by the rules of ``parse_cnm``. Repeated nouns count once.

    Raises:
        AnnotationError: If a field is not a string or None, too long, or has control characters,
            or if there are more than ``MAX_NOUNS`` nouns.
    """
    cleaned = [_clean_field("nouns", noun) for noun in nouns]
    if len(cleaned) > MAX_NOUNS:
        message = f"CNM has {len(cleaned)} nouns, the most is {MAX_NOUNS}"
        raise AnnotationError(message)
    unique = {noun.casefold(): noun for noun in reversed(cleaned) if noun is not None}
    return Cnm(
        category=_clean_field("category", category),
        nouns=tuple(reversed(unique.values())),
        model=_clean_field("model", model),
    )


def _clean_field(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        message = f"CNM {name} must be text, got {_shown(value)}"
        raise AnnotationError(message)
    folded = " ".join(value.split())
    if any(unicodedata.category(character) in _REFUSED_CATEGORIES for character in folded):
        message = f"CNM {name} has control characters: {_shown(folded)}"
        raise AnnotationError(message)
    if len(folded) > MAX_FIELD_CHARACTERS:
        message = f"CNM {name} has {len(folded)} characters, the most is {MAX_FIELD_CHARACTERS}"
        raise AnnotationError(message)
    return None if folded.casefold() in _MISSING else folded


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        message = "a key is repeated"
        raise ValueError(message)
    return tree


def _shown(value: object) -> str:
    return ascii(value)[:MAX_FIELD_CHARACTERS]
