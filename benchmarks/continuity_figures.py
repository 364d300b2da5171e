"""How well continuity decisions find the boundaries between the products of a document. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.figures import rounded
from benchmarks.signature_accuracy import Stretch, names_device
from scp_ray.chop.annotate import span_starts
from scp_ray.chop.overlap import shared_characters
from scp_ray.records import Cnm

NEW_TITLE = "new title"
SEEN_TITLE = "title in the shared text"
HEADING = "heading"
BODY = "body text"
KINDS = (NEW_TITLE, SEEN_TITLE, HEADING, BODY)
NO_NAME, RIGHT_NAME, OTHER_NAME, MADE_UP = "none", "right", "another of the text", "made up"
NAMES = (RIGHT_NAME, NO_NAME, OTHER_NAME, MADE_UP)
_HEADING = "#"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring chunks of a document.

    Attributes:
        index: Chunk index of the first.
        kind: What the second brings: a boundary (``NEW_TITLE``), one that the first chunk showed
            too (``SEEN_TITLE``), else a heading, or neither.
    """

    index: int
    kind: str

    @property
    def is_boundary(self) -> bool:
        """Whether another product's manual begins in what only the second chunk holds."""
        return self.kind == NEW_TITLE


def pairs_of(text: str, spans: Sequence[tuple[int, int]], parts: Sequence[Stretch]) -> list[Pair]:
    """Return the pairs of neighbouring chunks of a document.

    The first character of a part, but for the first part, is where another product's manual
    begins. The pair that it belongs to is the one whose second chunk is the first to hold it.

    Args:
        text: The document.
        spans: Half-open characters of its chunks, in order.
        parts: The stretches of its products, in order.
    """
    begins = [part.char_start for part in parts[1:]]
    pairs = []
    for index in range(len(spans) - 1):
        (start, end), (next_start, next_end) = spans[index], spans[index + 1]
        shared = shared_characters(text[start:end], text[next_start:next_end])
        new_start = next_start + shared
        if any(new_start <= begin < next_end for begin in begins):
            kind = NEW_TITLE
        elif any(next_start <= begin < new_start for begin in begins):
            kind = SEEN_TITLE
        else:
            lines = text[new_start:next_end].splitlines()
            kind = HEADING if any(line.startswith(_HEADING) for line in lines) else BODY
        pairs.append(Pair(index, kind))
    return pairs


def boundary_figures(pairs: Sequence[Pair], continues: Mapping[int, bool]) -> dict[str, Any]:
    """Return precision and recall of FALSE as a sign of a boundary, and FALSE by kind of pair.

    Args:
        pairs: Pairs that count.
        continues: The decision for each, by the pair's index.
    """
    changed = [pair for pair in pairs if not continues[pair.index]]
    boundaries = [pair for pair in pairs if pair.is_boundary]
    num_found = sum(pair.is_boundary for pair in changed)
    return {
        "pairs": len(pairs),
        "boundaries": len(boundaries),
        "found": num_found,
        "false_alarms": len(changed) - num_found,
        "precision": rounded(num_found / len(changed)) if changed else None,
        "recall": rounded(num_found / len(boundaries)) if boundaries else None,
        "false_by_kind": {
            kind: {
                "pairs": sum(pair.kind == kind for pair in pairs),
                "false": sum(pair.kind == kind for pair in changed),
            }
            for kind in KINDS
        },
    }


def name_figures(
    cnms: Mapping[int, Cnm], text: str, spans: Sequence[tuple[int, int]], parts: Sequence[Stretch]
) -> dict[str, int]:
    """Count what the first chunks of spans name: the right device, none, or another name.

    Another name counts as made up where the chunk does not hold it, case and spaces aside. The
    right device of a chunk is the one of the part that it ends in.

    Args:
        cnms: The signature of each chunk that starts a span, by chunk index.
        text: The document.
        spans: Half-open characters of its chunks, in order.
        parts: The stretches of its products.
    """
    counts = dict.fromkeys(NAMES, 0)
    for index, cnm in cnms.items():
        start, end = spans[index]
        device = next(
            (part.model for part in parts if part.char_start < end <= part.char_end), None
        )
        counts[_name_kind(cnm.model, device, text[start:end])] += 1
    return counts


def _name_kind(model: str | None, device: str | None, chunk: str) -> str:
    if model is None:
        return NO_NAME
    if names_device(model, device):
        return RIGHT_NAME
    return OTHER_NAME if _folded(model) in _folded(chunk) else MADE_UP


def _folded(text: str) -> str:
    return "".join(text.casefold().split())


def carried(decisions: Sequence[bool], cnms: Mapping[int, Cnm]) -> dict[int, Cnm]:
    """Give a span that names no model the model of the span before, and its category with it.

    Args:
        decisions: As ``fold`` takes them.
        cnms: The signature of each span's first chunk, by chunk index.
    """
    completed: dict[int, Cnm] = {}
    before = Cnm()
    for start in span_starts(decisions):
        own = cnms[start]
        if own.model is None:
            own = replace(own, model=before.model, category=own.category or before.category)
        completed[start] = before = own
    return completed
