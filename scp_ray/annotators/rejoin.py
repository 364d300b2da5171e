"""Puts the chunks of a document together again, so that a line is seen once and whole."""

from collections.abc import Sequence
from dataclasses import dataclass

from scp_ray.chop.overlap import shared_characters


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
        shared = shared_characters(previous, chunk)
        fresh = chunk[shared:] if shared or not parts else f"\n{chunk}"
        end += len(fresh)
        parts.append(fresh)
        spans.append((end - len(chunk), end))
        previous = chunk
    return RejoinedText("".join(parts), spans)
