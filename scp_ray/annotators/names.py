"""Product names: the shape of their tokens, and when two of them are the same."""

import re
from enum import Enum, auto

from scp_ray.annotators.wording import NAME_SUFFIXES

_CODE = re.compile(r"[^\W\d_][\w.+-]*\d[\w.+-]*")  # HX-225B, T10+
_NUMBER = re.compile(
    r"\d{1,5}(?:\.\d{1,5}){0,3}(?:\.?[^\W\d_]{1,3})?\+?"
)  # 40, 300X, 10+, 22.110.B
_FILE_NAME = re.compile(r".*\.[a-z]{2,4}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_PERIOD = re.compile(r"(?:q[1-4]|h[12]|fy\d+)", re.IGNORECASE)  # Q3, FY22
_ROMAN = re.compile(r"(?:I[IVX]|V?I{1,3}|IV|VI{0,3}|I?X)")
_KEY_PART = re.compile(r"[^\W\d_]+|\d+|\+")


class Designator(Enum):
    """What tells one product of a family from the next, by how much it proves."""

    NONE = auto()
    LETTER = auto()
    """One capital letter or a Roman numeral: needs other evidence."""
    NUMBER = auto()
    """Digits first: needs other evidence."""
    CODE = auto()
    """Letters, then digits, in one token."""


def designator_of(token: str) -> Designator:
    """Say what kind of designator a token is, if any. Years, quarters and files are none."""
    if is_year(token) or _PERIOD.fullmatch(token) or _FILE_NAME.fullmatch(token):
        return Designator.NONE
    if _CODE.fullmatch(token):
        return Designator.CODE
    if _NUMBER.fullmatch(token):
        return Designator.NUMBER
    is_letter = len(token) == 1 and token.isupper()
    return Designator.LETTER if is_letter or _ROMAN.fullmatch(token) else Designator.NONE


def is_year(token: str) -> bool:
    """Whether a token is a year; part of a name only where the title speaks for it."""
    return _YEAR.fullmatch(token) is not None


def is_name_suffix(token: str) -> bool:
    """Whether a token that follows a designator belongs to the name: Pro, 5G, II, X."""
    return token.casefold() in NAME_SUFFIXES or designator_of(token) is not Designator.NONE


def name_key(name: str) -> tuple[str, ...]:
    """Return what is equal for all spellings of a name: ``Note10+`` and ``Note 10+``."""
    return tuple(_KEY_PART.findall(name.casefold()))


def is_same_product(name: str, other: str) -> bool:
    """Whether two names are one, or one of them is the other without its first words."""
    long, short = sorted((name_key(name), name_key(other)), key=len, reverse=True)
    return bool(short) and long[-len(short) :] == short
