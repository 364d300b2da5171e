"""Windows of whole sentences, within given stretches of a text."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from scp_ray.errors import DocumentError, QuarantineReason
from scp_ray.evaluation.baselines.sentences import sentence_spans
from scp_ray.protocols import Tokenizer
from scp_ray.records import ChunkSpan
from scp_ray.sections import ChunkingConfig

_COUNT_BATCH: Final = 256  # sentences that exist at once


def fitting_sentences(text: str, tokenizer: Tokenizer, max_tokens: int) -> list[ChunkSpan]:
    """Return the sentences of a text; those of more than ``max_tokens`` are cut by tokens.

    What has no token of its own belongs to the sentence before it, at the beginning to the one
    after. Together they hold every character that is not white space.

    Args:
        text: The whole document.
        tokenizer: What counts.
        max_tokens: Most tokens of a sentence or piece, as a text of its own.

    Returns:
        Ascending, disjoint, each with at least one token.

    Raises:
        DocumentError: EMPTY if there is no token, CHUNK_TOO_LONG if a single token of the text has
            more than ``max_tokens`` as a text of its own.
    """
    found: list[ChunkSpan] = []
    waiting_from: int | None = None
    for part in _parts(text, tokenizer, max_tokens):
        if part.num_tokens:
            start = part.char_start if waiting_from is None else waiting_from
            found.append(ChunkSpan(start, part.char_end, part.num_tokens))
            waiting_from = None
        elif found:
            last = found[-1]
            found[-1] = ChunkSpan(last.char_start, part.char_end, last.num_tokens)
        elif waiting_from is None:
            waiting_from = part.char_start
    if not found:
        raise DocumentError(QuarantineReason.EMPTY, "the text has no token")
    return found


class Stretch(NamedTuple):
    """Neighbouring sentences, from ``first`` up to ``end``, that windows do not leave."""

    first: int
    end: int


class SentenceWindows:
    """Makes windows of the sentences of one text."""

    def __init__(
        self,
        text: str,
        sentences: Sequence[ChunkSpan],
        tokenizer: Tokenizer,
        config: ChunkingConfig,
    ) -> None:
        """Take sentences, as ``fitting_sentences`` returns them for the size of a window."""
        self._text = text
        self._sentences = sentences
        self._tokenizer = tokenizer
        self._size = config.chunk_size_tokens
        self._overlap = config.overlap_tokens

    def within(self, stretches: Sequence[Stretch]) -> list[ChunkSpan]:
        """Return the windows of stretches, in text order.

        Each takes as many whole sentences as fit into ``chunk_size_tokens``, and begins with the
        last ones of the window before that have at most ``overlap_tokens`` together and leave
        room for a new one.

        Args:
            stretches: Ascending and disjoint; none is empty.
        """
        return [window for stretch in stretches for window in self._windows(stretch)]

    def _windows(self, stretch: Stretch) -> Iterator[ChunkSpan]:
        first = new = stretch.first
        while new < stretch.end:
            first, end, num_tokens = self._fitted(first, new, stretch.end)
            start, stop = self._sentences[first].char_start, self._sentences[end - 1].char_end
            yield ChunkSpan(start, stop, num_tokens)
            if end < stretch.end:
                first = self._overlap_start(first, end)
            new = end

    def _fitted(self, first: int, new: int, limit: int) -> tuple[int, int, int]:
        """Return first sentence, end and tokens of a window that holds the sentence ``new``."""
        end = new + 1
        total = sum(self._sentences[index].num_tokens for index in range(first, end))
        while end < limit and total + self._sentences[end].num_tokens <= self._size:
            total += self._sentences[end].num_tokens
            end += 1
        # The tokens of a text need not be those of its sentences: pieces of a word are joined.
        while (num_tokens := self._count(first, end)) > self._size and end - first > 1:
            if end > new + 1:
                end -= 1
            else:
                first += 1
        return first, end, num_tokens

    def _overlap_start(self, first: int, end: int) -> int:
        room = min(self._overlap, self._size - self._sentences[end].num_tokens)
        start = end
        while start - 1 > first and self._sentences[start - 1].num_tokens <= room:
            start -= 1
            room -= self._sentences[start].num_tokens
        return start

    def _count(self, first: int, end: int) -> int:
        start, stop = self._sentences[first].char_start, self._sentences[end - 1].char_end
        return self._tokenizer.count_tokens([self._text[start:stop]])[0]


def _parts(text: str, tokenizer: Tokenizer, max_tokens: int) -> Iterator[ChunkSpan]:
    spans = sentence_spans(text)
    for first in range(0, len(spans), _COUNT_BATCH):
        batch = spans[first : first + _COUNT_BATCH]
        counts = tokenizer.count_tokens([text[start:end] for start, end in batch])
        for (start, end), num_tokens in zip(batch, counts, strict=True):
            if num_tokens <= max_tokens:
                yield ChunkSpan(start, end, num_tokens)
            else:
                yield from _pieces(text[start:end], start, tokenizer, max_tokens)


def _pieces(
    sentence: str, offset: int, tokenizer: Tokenizer, max_tokens: int
) -> Iterator[ChunkSpan]:
    """Cut where tokens begin; several tokens of one character (byte-level) stay together."""
    cuts = np.unique(tokenizer.token_offsets(sentence)[:, 0]).tolist()
    cuts[0] = 0
    cuts.append(len(sentence))
    first = 0
    while first < len(cuts) - 1:
        end = min(first + max_tokens, len(cuts) - 1)
        piece = sentence[cuts[first] : cuts[end]].rstrip()
        while (num_tokens := tokenizer.count_tokens([piece])[0]) > max_tokens:
            if end - first == 1:
                detail = f"one token of the text has {num_tokens} alone, more than {max_tokens}"
                raise DocumentError(QuarantineReason.CHUNK_TOO_LONG, detail)
            end = first + max((end - first) * max_tokens // num_tokens, 1)
            piece = sentence[cuts[first] : cuts[end]].rstrip()
        yield ChunkSpan(offset + cuts[first], offset + cuts[first] + len(piece), num_tokens)
        first = end
