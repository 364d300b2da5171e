"""Puts the chunks of a document together again, so that a line is seen once and whole."""

from collections.abc import Sequence
from dataclasses import dataclass

_MIN_OVERLAP_CHARACTERS = 8
_MAX_OVERLAP_CHARACTERS = 8192  # bounds the work on chunks that are one endless repetition


@dataclass(frozen=True, slots=True)
class RejoinedText:
    r"""The text that a document's chunks cover.

    Attributes:
        text: Every character once where the chunks overlap; a line break where they do not. Line
            ends are ``\n``.
        spans: Half-open (start, end) of each chunk in ``text``, in chunk order.
    """

    text: str
    spans: list[tuple[int, int]]


def rejoin(chunks: Sequence[str]) -> RejoinedText:
    """Join neighbouring chunks at their overlap, in time linear in their lengths."""
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    end, previous = 0, ""
    for raw in chunks:
        chunk = raw.replace("\r\n", "\n").replace("\r", "\n")
        shared = _overlap(previous, chunk)
        fresh = chunk[shared:] if shared or not parts else f"\n{chunk}"
        end += len(fresh)
        parts.append(fresh)
        spans.append((end - len(chunk), end))
        previous = chunk
    return RejoinedText("".join(parts), spans)


def _overlap(chunk: str, next_chunk: str) -> int:
    """Return the length of the longest end of ``chunk`` that ``next_chunk`` begins with."""
    probe = next_chunk[:_MIN_OVERLAP_CHARACTERS]
    if len(probe) < _MIN_OVERLAP_CHARACTERS:
        return 0
    start = chunk.find(probe, max(0, len(chunk) - _MAX_OVERLAP_CHARACTERS))
    while start != -1:
        if next_chunk.startswith(chunk[start:]):
            return len(chunk) - start
        start = chunk.find(probe, start + 1)
    return 0
