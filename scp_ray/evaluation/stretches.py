"""Characters of documents as stretches: unions, lengths, and what two of them share. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class Place(Protocol):
    """Anything that lies in one document: half-open character offsets."""

    @property
    def doc_id(self) -> str:
        """The document."""
        ...

    @property
    def char_start(self) -> int:
        """First code point."""
        ...

    @property
    def char_end(self) -> int:
        """One past the last code point."""
        ...


class Stretch(NamedTuple):
    """A run of characters of one document: half-open offsets."""

    doc_id: str
    char_start: int
    char_end: int


def union(places: Iterable[Place]) -> list[Stretch]:
    """Return stretches that hold the same characters, each once, by document and offset."""
    stretches: list[Stretch] = []
    for place in sorted(places, key=lambda place: (place.doc_id, place.char_start)):
        last = stretches[-1] if stretches else None
        if last and last.doc_id == place.doc_id and place.char_start <= last.char_end:
            stretches[-1] = last._replace(char_end=max(last.char_end, place.char_end))
        else:
            stretches.append(Stretch(place.doc_id, place.char_start, place.char_end))
    return stretches


def num_characters(places: Iterable[Place]) -> int:
    """Return the sum of the lengths; a character that two of them hold counts twice."""
    return sum(place.char_end - place.char_start for place in places)


def num_shared(one: Sequence[Place], other: Sequence[Place]) -> int:
    """Return how many characters two sets have in common.

    Neither may overlap among itself, as ``union`` and the passages of a context do not.
    """
    return sum(
        max(min(left.char_end, right.char_end) - max(left.char_start, right.char_start), 0)
        for left in one
        for right in other
        if left.doc_id == right.doc_id
    )
