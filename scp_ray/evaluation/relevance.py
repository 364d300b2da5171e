"""When a hit answers a question: by the characters that it shares with the evidence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

_ENOUGH_CHARACTERS: Final = 100
_ENOUGH_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class RelevantSpan:
    """Evidence for a question: half-open character offsets into one document's text."""

    doc_id: str
    char_start: int
    char_end: int


class HitSpan(NamedTuple):
    """Where a retrieved chunk lies: half-open character offsets into one document's text."""

    doc_id: str
    char_start: int
    char_end: int


def covers(hit: HitSpan, span: RelevantSpan) -> bool:
    """Return whether ``hit`` shares half of ``span``'s characters, or 100, whichever is less."""
    if hit.doc_id != span.doc_id:
        return False
    return is_enough(min(hit.char_end, span.char_end) - max(hit.char_start, span.char_start), span)


def is_enough(num_shared: int, span: RelevantSpan) -> bool:
    """Return whether so many characters are half of ``span``, or 100, whichever is less."""
    num_characters = span.char_end - span.char_start
    return num_shared >= min(_ENOUGH_CHARACTERS, num_characters * _ENOUGH_SHARE)


def is_relevant(hit: HitSpan, spans: Iterable[RelevantSpan]) -> bool:
    """Return whether ``hit`` covers one of the spans."""
    return any(covers(hit, span) for span in spans)
