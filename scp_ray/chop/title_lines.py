"""Lines that may be titles, from the text alone."""

import unicodedata
from typing import NamedTuple

_MOST_CHARACTERS = 60  # of a title; headings of manuals are shorter, lines of a paragraph longer
_LEAST_CHARACTERS = 2  # letters and digits of a title: page numbers and bullets have none
_HEADING_MARKS = "-#*=_| \t"  # of Markdown headings and emphasis
_NO_TITLES = ("|", "`", "<", "- ", "* ", "+ ", "•")  # tables, code, comments, lists
_MARKED = ("#", "*", "_")  # says by itself that it is no part of a paragraph
_CLOSING = "\"'”’»)]"
_SENTENCE_ENDS = tuple(".:,;!?…。！？：；，、؟،؛۔।")
_NEW_PARAGRAPH = "\n\n"


class Titles(NamedTuple):
    """Lines of two neighbouring chunks that may be titles, without the marks of a heading.

    Attributes:
        has_known: Whether the first chunk shows one.
        new: Those of the second chunk that the first does not show, in order; of those that
            differ in case the first.
    """

    has_known: bool
    new: list[str]


def titles_of(chunk: str, next_chunk: str, num_shared: int) -> Titles:
    """Return the lines of a pair of chunks that may be titles.

    A title is a short whole line that begins a paragraph, does not end like a sentence and does
    not go on in the next line. Where chunks share no text, what lay between them is not known, and
    a paragraph may begin there.

    Args:
        chunk: A chunk, cut anywhere.
        next_chunk: The next one, cut anywhere.
        num_shared: Characters that both hold.
    """
    shown = chunk if num_shared else chunk + _NEW_PARAGRAPH
    lines = (shown + next_chunk[num_shared:]).splitlines(keepends=True)
    known: set[str] = set()
    new: dict[str, str] = {}
    end, follows_blank = 0, True
    for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
        end += len(line)
        title = _title(line, next_line) if follows_blank else None
        follows_blank = not _visible(line)
        if title is None:
            continue
        if end <= len(chunk):
            known.add(title.casefold())
        elif end > len(shown) and title.casefold() not in known:
            new.setdefault(title.casefold(), title)
    return Titles(bool(known), list(new.values()))


def _title(line: str, next_line: str) -> str | None:
    if line.splitlines() == [line]:  # its end is not seen
        return None
    raw = _visible(line)
    if raw.startswith(_NO_TITLES) or (next_line[:1].islower() and not raw.startswith(_MARKED)):
        return None
    text = " ".join(raw.strip(_HEADING_MARKS).split())
    is_name = sum(map(str.isalnum, text)) >= _LEAST_CHARACTERS and any(map(str.isalpha, text))
    is_sentence = text.rstrip(_CLOSING).endswith(_SENTENCE_ENDS)
    return text if is_name and not is_sentence and len(text) <= _MOST_CHARACTERS else None


def _visible(line: str) -> str:
    """Return a line without white space around and characters that are not seen."""
    if line.isascii():
        return line.strip()
    return "".join(one for one in line if unicodedata.category(one) != "Cf").strip()
