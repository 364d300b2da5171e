"""The terms of a text: what the lexical index counts of a chunk, and looks up for a question."""

import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import pairwise

import regex

from scp_ray.records import Stemmer

TERMS_REVISION = "words-2"
"""Changes whenever the same text could give other terms, or other pairs of them."""

MAX_TERM_CHARACTERS = 64
"""Longer terms are cut, so that a blob of letters is no more than one odd word."""

_NUM_REMEMBERED = 2**16
_MAX_REMEMBERED = 64
_MAX_MARKS = 30
_OUTER_SIGNS = '.,:;!?()[]"'
_NO_NAME = str.maketrans("™℠", "  ")
_LINKS = str.maketrans("’ʼ_\u2010\u2011\u2012\u2013\u2212", "''------")

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTER = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]"
_MARK = r"[\p{Mn}\p{Mc}]"
_WORD = rf"{_LETTER}[{_MARK}{_LETTER}]*+"
_LINK = r"(?:-|(?<=\p{N})\.(?=\p{N}))"
_CHARACTER = rf"[[\p{{L}}\p{{N}}]&&[{_UNSPACED}]]{_MARK}*+"

_MARK_RUN = regex.compile(rf"([\p{{M}}\uff9e\uff9f]{{{_MAX_MARKS}}})[\p{{M}}\uff9e\uff9f]++")
_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_POSSESSIVE = regex.compile(rf"(?V1)(?<={_LETTER}|{_MARK})'s(?!{_LETTER}|')")
_CONTRACTION = regex.compile(rf"(?V1)(?<={_LETTER}|{_MARK})'(?=(?:t|m|d|ll|re|ve)(?!{_LETTER}|'))")
_PIECE = regex.compile(
    rf"(?V1)({_WORD}(?:{_LINK}{_WORD})*+)(\+{{1,2}}(?!{_LETTER}|\+))?|((?:{_CHARACTER})++)"
)
_PART = regex.compile(r"[-.]")
_CHARACTERS = regex.compile(rf"(?V1){_CHARACTER}")


def terms_of(text: str, stemmer: Stemmer) -> list[str]:
    """Cut a text into terms; chunks and questions alike.

    White space separates, always. Within what stands between it:

    - Letters are folded as Unicode's NFKC_Casefold has it: compatible forms, case and invisible
      characters make no difference. Trade marks (™, ℠) are no part of a name.
    - A word is a run of letters, digits and the marks on them.
    - Words linked by one hyphen (of any form, or ``_``) are a compound: it gives each word, then
      the whole without the links. ``RXC-225B`` gives ``rxc``, ``225b``, ``rxc225b``.
    - A dot links digits only, and stays: ``v2.10`` gives ``v2``, ``10``, ``v2.10``. Elsewhere, and
      like ``/``, ``@`` and all else, it separates: addresses, paths and alternatives give words.
    - One or two ``+`` at the end stay, beside the bare word: ``S9+`` gives ``s9``, ``s9+``.
    - Of ``maker's`` the end is dropped; ``don't`` becomes ``dont``; another apostrophe is a
      hyphen: ``l'eau`` gives ``l``, ``eau``, ``leau``.
    - Scripts without spaces give the overlapping pairs of characters of each run, a character
      being a letter with its marks; a run of one gives itself.

    Signs alone give nothing. Terms are cut at ``MAX_TERM_CHARACTERS``, runs of more than 30 marks
    at 30 (Stream-Safe Text, UAX #15: normalising is quadratic in them). Time and output are
    linear in the text.

    Args:
        text: Any text; lone surrogates separate.
        stemmer: ``LIGHT`` takes English plural endings off words of ASCII letters.

    Returns:
        The terms in order of occurrence, repeats kept; none of them empty.

    Source: the Unicode Standard, 3.13 (NFKC_Casefold) and UAX #15; Harman (1991), How effective is
    suffixing?, JASIS 42(1), for the S-stemmer: -ies becomes -y but for -eies and -aies, then -s is
    dropped but for -us and -ss, from three letters on. Her exceptions of -aes, -ees and -oes are
    read as left to the last rule, so that degrees meets degree. The rest is our choice.
    """
    remembered = _REMEMBERED[stemmer]
    terms: list[str] = []
    for token in text.split():
        if len(token) <= _MAX_REMEMBERED:
            terms += remembered(token)
        else:
            terms += _terms_of_token(token, stemmer)
    return terms


def _terms_of_token(token: str, stemmer: Stemmer) -> tuple[str, ...]:
    """Give the terms of text without white space."""
    cut = (term[:MAX_TERM_CHARACTERS] for term in _pieces(_folded(token)))
    return tuple(map(_without_plural, cut) if stemmer is Stemmer.LIGHT else cut)


def _folded(token: str) -> str:
    """Make forms alike that are one word to a reader; links become ``-``."""
    if token.isascii():
        folded = token.lower()
    else:
        folded = _MARK_RUN.sub(r"\1", token).translate(_NO_NAME)
        folded = _IGNORABLE.sub("", unicodedata.normalize("NFKC", folded)).casefold()
        folded = _MARK_RUN.sub(r"\1", folded)  # what stood between two runs may be gone
        folded = unicodedata.normalize("NFKC", folded)
    folded = folded.translate(_LINKS)
    if "'" in folded:
        folded = _CONTRACTION.sub("", _POSSESSIVE.sub("", folded)).replace("'", "-")
    return folded


def _pieces(folded: str) -> Iterator[str]:
    bare = folded.strip(_OUTER_SIGNS)
    if bare.isascii() and bare.isalnum():
        yield bare
        return
    for compound, plus, run in _PIECE.findall(folded):
        if run:
            yield from _pairs(_CHARACTERS.findall(run))
            continue
        parts = _PART.split(compound)
        if len(parts) > 1:
            yield from parts
        whole = compound.replace("-", "")
        yield whole
        if plus:
            yield whole + plus


def _pairs(characters: list[str]) -> list[str]:
    if len(characters) == 1:
        return characters
    return [first + second for first, second in pairwise(characters)]


def _without_plural(term: str) -> str:
    if not term.endswith("s") or len(term) <= len("as") or not (term.isascii() and term.isalpha()):
        return term
    if term.endswith("ies") and not term.endswith(("eies", "aies")):
        return term[: -len("ies")] + "y"
    if term.endswith(("us", "ss")):
        return term
    return term[: -len("s")]


# Words repeat: remembering their terms makes English text ten times as fast.
_REMEMBERED: dict[Stemmer, Callable[[str], tuple[str, ...]]] = {
    stemmer: lru_cache(_NUM_REMEMBERED)(partial(_terms_of_token, stemmer=stemmer))
    for stemmer in Stemmer
}
