"""Where the sentences of a text begin and end, by a small rule. Pure.

White space ends a sentence where

- a blank line is in it;
- a line break is in it, and the next line opens a list item, a table row or a Markdown heading;
- a line break is in it, and the line before was a table row or such a heading, which nothing else
  ends;
- it follows ``. ! ? …``, perhaps with closing quotes or brackets, and what comes next does not
  begin with a lower-case letter. A full stop ends no sentence behind an initial (``J.``, ``e.g.``,
  ``U.S.``), a title (``Dr.``), a number that the sentence begins with (``1.``), or a word that goes
  with numbers (``Fig. 3``).

The full stops of Chinese and Japanese end a sentence without white space. A line break alone is
none: texts are wrapped.

Source: our choice; CHOP's baseline Cosine-Chunking does not say how it finds sentences.
"""

import re
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]
"""Half-open character offsets."""

_GAP: Final = re.compile(
    r"\s+|(?<=[。！？])(?=[^\s。！？」』）])|(?<=[。！？][」』）])(?=[^\s。！？」』）])"
)
_BLOCK: Final = re.compile(r"[-*+•◦▪·–][ \t]|\||#{1,6}[ \t]|\(?\d{1,3}[.)][ \t]")
_WHOLE_LINE: Final = re.compile(r"#{1,6}[ \t]|\|")
_LIST_NUMBER: Final = re.compile(r"\(?\d{1,3}\.")
_INITIALS: Final = re.compile(r"(?:[^\W\d_]\.){2,}|[A-Z]\.")
_ENDS: Final = tuple(".!?…。！？")
_CLOSERS: Final = ")]\"'”’»」』）"
_OPENERS: Final = "([\"'“‘«"
_TITLES: Final = frozenset("mr. mrs. ms. dr. prof. st. vs. cf.".split())
_BEFORE_NUMBERS: Final = frozenset(
    "no. nos. fig. figs. sec. vol. p. pp. art. ch. eq. max. min. approx. ca.".split()
)


def sentence_spans(text: str) -> list[Span]:
    """Return the sentences of a text, ascending, in linear time.

    They begin and end with other characters than white space, and hold all of those.
    """
    spans: list[Span] = []
    start = word_start = len(text) - len(text.lstrip())
    is_whole = _WHOLE_LINE.match(text, start) is not None
    for gap in _GAP.finditer(text, start):
        if gap.end() == len(text):
            break
        word = text[word_start : gap.start()]
        is_end = _breaks_block(text, gap, is_whole=is_whole) or (
            not is_whole
            and not (word_start == start and _LIST_NUMBER.fullmatch(word))
            and _ends_sentence(word, text[gap.end() : gap.end() + 2].lstrip(_OPENERS)[:1])
        )
        if is_end:
            spans.append((start, gap.start()))
            start = gap.end()
            is_whole = _WHOLE_LINE.match(text, start) is not None
        word_start = gap.end()
    if start < len(text):
        spans.append((start, len(text.rstrip())))
    return spans


def _breaks_block(text: str, gap: re.Match[str], *, is_whole: bool) -> bool:
    """Whether what comes before and after a gap is not of one paragraph, or needs no gap."""
    if not gap[0]:
        return not is_whole
    num_breaks = gap[0].count("\n")
    if num_breaks != 1:
        return num_breaks > 1
    return is_whole or _BLOCK.match(text, gap.end()) is not None


def _ends_sentence(word: str, following: str) -> bool:
    """Whether a word closes a sentence, given the first letter or sign of what comes next."""
    ending = word.rstrip(_CLOSERS)
    if not ending.endswith(_ENDS) or following.islower():
        return False
    stem = ending.lstrip(_OPENERS)
    if _INITIALS.fullmatch(stem) or stem.lower() in _TITLES:
        return False
    return not (stem.lower() in _BEFORE_NUMBERS and following.isdecimal())
