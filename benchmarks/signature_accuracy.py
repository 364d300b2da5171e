"""Share of an index's chunks whose CNM names the right device, with every miss.

The file of parts has one JSON row for each stretch of a document that is about one device:
``{"doc_id", "char_start", "char_end", "model"}``. A chunk is judged twice: by the part that it
starts in, and by the part that has most of its characters. Chunks outside all parts do not count.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks.figures import say
from benchmarks.shard_rows import stored_rows
from scp_ray import schema


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters of a document and the device that they name, or are about.

    Attributes:
        doc_id: The document.
        char_start: First code point.
        char_end: One past the last.
        model: The device; None where a chunk names none.
    """

    doc_id: str
    char_start: int
    char_end: int
    model: str | None

    def num_shared(self, other: "Stretch") -> int:
        """Return how many characters two stretches of one document share."""
        start = max(self.char_start, other.char_start)
        return max(0, min(self.char_end, other.char_end) - start)


@dataclass(frozen=True, slots=True)
class Miss:
    """A chunk that names another device than it should, or none."""

    doc_id: str
    chunk_index: int
    expected: str | None
    found: str | None

    @property
    def text(self) -> str:
        """The miss, for people."""
        return f"{self.doc_id} chunk {self.chunk_index}: expected {self.expected}, is {self.found}"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many chunks were judged, and those that miss."""

    num_chunks: int
    misses: tuple[Miss, ...]

    @property
    def share(self) -> float:
        """Share of the chunks that name the right device; 1 without any."""
        return 1.0 - len(self.misses) / max(self.num_chunks, 1)


PartOf: TypeAlias = Callable[[Stretch, Sequence[Stretch]], Stretch | None]


def main(argv: Sequence[str] | None = None) -> int:
    """Print both shares and every miss; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path, help="index in a folder")
    parser.add_argument("parts", type=Path, help="JSONL file of parts")
    args = parser.parse_args(argv)
    chunks, parts = read_signatures(args.index), read_parts(args.parts)
    for name, part_of in (("start", part_at_start), ("majority", part_of_majority)):
        accuracy = measure(chunks, parts, part_of)
        say(f"by {name}: {accuracy.share:.3f} of {accuracy.num_chunks} chunks")
        for miss in accuracy.misses:
            say(f"  {miss.text}")
    return 0


def read_parts(path: Path) -> list[Stretch]:
    """Read a file of parts."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    names = ("doc_id", "char_start", "char_end", "model")
    return [Stretch(*(row[name] for name in names)) for row in rows]


def read_signatures(index: Path) -> list[tuple[int, Stretch]]:
    """Return chunk_index and named device of every chunk, by doc_id and chunk_index."""
    columns = (schema.DOC_ID, schema.CHAR_START, schema.CHAR_END, schema.CNM_MODEL)
    rows = stored_rows(index).chunks.select([schema.CHUNK_INDEX, *columns]).to_pylist()
    return [
        (row[schema.CHUNK_INDEX], Stretch(*(row[column] for column in columns))) for row in rows
    ]


def measure(
    chunks: Iterable[tuple[int, Stretch]], parts: Sequence[Stretch], part_of: PartOf
) -> Accuracy:
    """Compare what chunks name with the parts that they belong to."""
    num_chunks, misses = 0, []
    for chunk_index, chunk in chunks:
        own = [part for part in parts if part.doc_id == chunk.doc_id]
        part = part_of(chunk, own)
        if part is None:
            continue
        num_chunks += 1
        if not names_device(chunk.model, part.model):
            misses.append(Miss(chunk.doc_id, chunk_index, part.model, chunk.model))
    return Accuracy(num_chunks, tuple(misses))


def part_at_start(chunk: Stretch, parts: Sequence[Stretch]) -> Stretch | None:
    """Return the part that a chunk starts in, or None."""
    return next(
        (part for part in parts if part.char_start <= chunk.char_start < part.char_end), None
    )


def part_of_majority(chunk: Stretch, parts: Sequence[Stretch]) -> Stretch | None:
    """Return the part that has most of a chunk, the earlier of two that have as much, or None."""
    sharing = [part for part in parts if chunk.num_shared(part)]
    return max(sharing, key=chunk.num_shared, default=None)


def names_device(found: str | None, expected: str | None) -> bool:
    """Whether a name ends with the device's words; a maker's name may stand in front."""
    if found is None or expected is None:
        return found == expected
    words = expected.casefold().split()
    return found.casefold().split()[-len(words) :] == words


if __name__ == "__main__":
    sys.exit(main())
