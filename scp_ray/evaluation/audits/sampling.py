"""Draws the results of queries that people are to review.

The strata are bands of ranks: first results, second and third, and those after. What a reader sees
first matters most and is rarest, so each band gets as many rows as the others, as far as it has
them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_SEED: Final = "1"
_FIRST: Final = "rank 1"
_BANDS: Final = {2: "rank 2-3", 3: "rank 2-3"}
_LATER: Final = "rank 4 and more"


@dataclass(frozen=True, slots=True)
class Answer:
    """One result of one query.

    Attributes:
        query_id: The query.
        query: Its question.
        rank: From 1.
        doc_id: The document.
        chunk_index: The chunk.
        char_start: Where it begins.
        char_end: Where it ends.
        text: Its text.
        score: Its score.
        template: The category of its signature, or empty.
        generation: Of the index.
    """

    query_id: str
    query: str
    rank: int
    doc_id: str
    chunk_index: int
    char_start: int
    char_end: int
    text: str
    score: float
    template: str
    generation: int

    @property
    def review_id(self) -> str:
        """Name of its review: the query and the rank."""
        return f"{self.query_id}#{self.rank}"

    @property
    def stratum(self) -> str:
        """The band of its rank."""
        return _FIRST if self.rank == 1 else _BANDS.get(self.rank, _LATER)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A result that is to be reviewed.

    Attributes:
        answer: The result.
        stratum_size: All results in its band.
    """

    answer: Answer
    stratum_size: int


def draw_sample(answers: Sequence[Answer], size: int) -> list[Drawn]:
    """Draw results at random, stratified by band of rank.

    Which are drawn depends on their names alone, with a fixed seed: the same results give the same
    sheet, in whatever order they come. Rows come in random order too, so that a sheet that is
    filled in from the top and left half done is still a sample.

    Args:
        answers: All results, each query and rank once.
        size: Rows wanted, >= 1; all results where there are fewer.
    """
    strata: dict[str, list[Answer]] = {}
    for answer in sorted(answers, key=_draw):
        strata.setdefault(answer.stratum, []).append(answer)
    quotas = allocate({name: len(mine) for name, mine in strata.items()}, size)
    drawn = [
        Drawn(answer, len(mine)) for name, mine in strata.items() for answer in mine[: quotas[name]]
    ]
    return sorted(drawn, key=lambda one: _draw(one.answer))


def allocate(available: Mapping[str, int], size: int) -> dict[str, int]:
    """Share ``size`` out evenly, none getting more than it has.

    Args:
        available: What each has.
        size: To be shared out; what is over goes to those that sort first.

    Returns:
        What each gets; the sum is ``size``, or all where there is less.
    """
    quotas: dict[str, int] = {}
    left = size
    scarce_first = sorted(available, key=lambda name: (available[name], name))
    for place, name in enumerate(scarce_first):
        quotas[name] = min(available[name], -(-left // (len(scarce_first) - place)))
        left -= quotas[name]
    return quotas


def _draw(answer: Answer) -> bytes:
    """Return the lot of a result: a random number that its name decides."""
    return hashlib.sha256(f"{_SEED}:{answer.review_id}".encode()).digest()
