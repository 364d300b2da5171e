"""Assembly of a context: the text of ranked hits, each character once, within a token budget.

Which hits come in is the caller's choice: the head of the ranking, where neighbours are taken in
and merged, or the results of the gap selector, as in the paper.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

CountTokens: TypeAlias = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class ContextHit:
    """A ranked chunk with its text.

    Attributes:
        doc_id: Its document.
        chunk_index: Its place among the chunks of the document, 0-based.
        char_start: First code point in the document's text, 0-based.
        char_end: One past the last code point.
        text: ``text[char_start:char_end]`` of the document, at least one character.
        score: Its score. The order of the hits decides, not the score.
    """

    doc_id: str
    chunk_index: int
    char_start: int
    char_end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of one document's text in a context.

    Attributes:
        doc_id: Its document.
        char_start: First code point in the document's text, 0-based.
        char_end: One past the last code point.
        text: ``text[char_start:char_end]`` of the document.
        chunk_indexes: Every hit whose text lies in the passage, ascending; at least one.
        score: The best score of these hits.
    """

    doc_id: str
    char_start: int
    char_end: int
    text: str
    chunk_indexes: tuple[int, ...]
    score: float


class SkipReason(StrEnum):
    """Why the text of a hit is not in the context."""

    DOES_NOT_FIT = "does_not_fit"


@dataclass(frozen=True, slots=True)
class SkippedHit:
    """A hit whose text is not, or not wholly, in the context."""

    doc_id: str
    chunk_index: int
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class Context:
    """The assembled text.

    Attributes:
        tokens: Sum over the passages of the tokens that each has on its own.
        passages: Documents in the order of their best hits, passages in reading order inside a
            document. Two passages of a document neither overlap nor touch.
        skipped: The hits that are cited in no passage, in rank order.
    """

    tokens: int
    passages: tuple[Passage, ...]
    skipped: tuple[SkippedHit, ...]


def assemble_context(
    hits: Iterable[ContextHit], *, max_tokens: int, count_tokens: CountTokens
) -> Context:
    """Go down the hits and take the text of each one that still fits.

    A hit is taken whole or not at all, and is joined with all taken text of its document that it
    overlaps or touches. It fits if the tokens of all passages, as they stand then, are at most
    ``max_tokens``; one that does not fit is skipped, and the next ones are still tried. A hit
    whose characters all came in with others is cited at no cost, also when it was skipped before.

    Args:
        hits: In rank order, each chunk once. Where two of them disagree about a character, the
            one taken first is believed.
        max_tokens: Most tokens of the context, >= 0. What is put between passages later on does
            not count.
        count_tokens: Gives the tokens of each text on its own, as ``Tokenizer.count_tokens`` does.
            Called at most once a hit, with one text: the passage that the hit would make.

    Raises:
        ValueError: If the text of a hit is empty or not as long as its offsets say.

    Source: our addition; the paper (SCP-HNSW, arXiv:2606.01542) fills the prompt with its results.
    """
    ranked = list(hits)
    taken = _TakenText(max_tokens, count_tokens)
    for hit in ranked:
        _check(hit)
        taken.take_if_it_fits(hit)
    # Tokens of a joined text can be fewer than those of its parts, so that later hits may cover
    # one that did not fit. Hence citations are settled at the end.
    citations: dict[str, dict[_Stretch, list[ContextHit]]] = {}
    skipped: list[SkippedHit] = []
    for hit in ranked:
        stretch = taken.stretch_with(hit)
        if stretch is None:
            skipped.append(SkippedHit(hit.doc_id, hit.chunk_index, SkipReason.DOES_NOT_FIT))
        else:
            citations.setdefault(hit.doc_id, {}).setdefault(stretch, []).append(hit)
    passages = (
        _passage(stretch, cited)
        for by_stretch in citations.values()
        for stretch, cited in sorted(by_stretch.items())
    )
    return Context(taken.num_tokens, tuple(passages), tuple(skipped))


class _Stretch(NamedTuple):
    """Taken text between two offsets; stretches of a document neither overlap nor touch."""

    char_start: int
    char_end: int
    text: str
    num_tokens: int


class _TakenText:
    """What was taken so far, as stretches in reading order for each document."""

    def __init__(self, max_tokens: int, count_tokens: CountTokens) -> None:
        self.num_tokens = 0
        self._max_tokens = max_tokens
        self._count_tokens = count_tokens
        self._stretches: dict[str, list[_Stretch]] = {}

    def stretch_with(self, hit: ContextHit) -> _Stretch | None:
        """Return the stretch that has all characters of the hit, if there is one."""
        # If one has them all, it is the only one that the hit overlaps or touches.
        near = self._stretches.get(hit.doc_id, [])[self._near(hit)][:1]
        if near and near[0].char_start <= hit.char_start and hit.char_end <= near[0].char_end:
            return near[0]
        return None

    def take_if_it_fits(self, hit: ContextHit) -> None:
        if self.stretch_with(hit) is not None:
            return
        near = self._near(hit)
        replaced = self._stretches.get(hit.doc_id, [])[near]
        joined = self._join(hit, replaced)
        num_tokens = self.num_tokens - sum(old.num_tokens for old in replaced) + joined.num_tokens
        if num_tokens <= self._max_tokens:
            self._stretches.setdefault(hit.doc_id, [])[near] = [joined]
            self.num_tokens = num_tokens

    def _near(self, hit: ContextHit) -> slice:
        """Return where the stretches are that the hit overlaps or touches."""
        stretches = self._stretches.get(hit.doc_id, [])
        return slice(
            bisect_left(stretches, hit.char_start, key=lambda stretch: stretch.char_end),
            bisect_right(stretches, hit.char_end, key=lambda stretch: stretch.char_start),
        )

    def _join(self, hit: ContextHit, stretches: Sequence[_Stretch]) -> _Stretch:
        """Return the stretches made one; the hit gives only the characters that they lack."""
        parts: list[str] = []
        reached = hit.char_start
        for stretch in stretches:
            parts.append(_characters(hit, reached, stretch.char_start))
            parts.append(stretch.text)
            reached = stretch.char_end
        parts.append(_characters(hit, reached, hit.char_end))
        text = "".join(parts)
        char_end = max(reached, hit.char_end)
        (num_tokens,) = self._count_tokens([text])
        return _Stretch(char_end - len(text), char_end, text, num_tokens)


def _characters(hit: ContextHit, char_start: int, char_end: int) -> str:
    """Return the hit's characters from one offset of the document to another; none if backwards."""
    return hit.text[char_start - hit.char_start : max(char_end - hit.char_start, 0)]


def _check(hit: ContextHit) -> None:
    if not hit.text or len(hit.text) != hit.char_end - hit.char_start:
        message = (
            f"chunk {hit.chunk_index} of document {hit.doc_id!r} has {len(hit.text)} characters "
            f"at offsets {hit.char_start} to {hit.char_end}"
        )
        raise ValueError(message)


def _passage(stretch: _Stretch, cited: Sequence[ContextHit]) -> Passage:
    return Passage(
        cited[0].doc_id,
        stretch.char_start,
        stretch.char_end,
        stretch.text,
        tuple(sorted({hit.chunk_index for hit in cited})),
        max(hit.score for hit in cited),
    )
