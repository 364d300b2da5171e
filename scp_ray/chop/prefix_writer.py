"""Writes the prefixes of the chunks of a document, each in the room that its chunk leaves."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from scp_ray.chop.prefix import embedding_text, render_prefix
from scp_ray.protocols import Tokenizer
from scp_ray.records import ChunkSpan, Cnm

_REMEMBERED: Final = 4096


class PrefixedChunks(NamedTuple):
    """The chunks of a document with their prefixes.

    Attributes:
        prefixes: One a chunk; empty where there is none.
        texts: What is embedded of each: prefix and chunk.
        num_shortened: Chunks that left their prefix less than the budget.
    """

    prefixes: list[str]
    texts: list[str]
    num_shortened: int


class PrefixWriter:
    """Writes prefixes for one encoder.

    Args:
        tokenizer: The encoder's.
        max_tokens: Most tokens that the encoder takes.
        budget_tokens: Most tokens of a prefix and the break after it, >= 0.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, budget_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._budget = budget_tokens
        self._render = lru_cache(_REMEMBERED)(self._rendered)

    def write(
        self, chunks: Sequence[str], spans: Sequence[ChunkSpan], cnms: Sequence[Cnm]
    ) -> PrefixedChunks:
        """Put a prefix in front of each chunk, as long as both together fit the encoder.

        A chunk that is longer than the encoder takes is not embedded in one piece: its prefix has
        the whole budget.

        Args:
            chunks: Text of each chunk.
            spans: The same chunks; ``num_tokens`` says how much room each leaves.
            cnms: The signature in force at each.
        """
        rooms = [self._room(span) for span in spans]
        prefixes = [self._render(cnm, room) for cnm, room in zip(cnms, rooms, strict=True)]
        texts = [
            embedding_text(prefix, chunk) for prefix, chunk in zip(prefixes, chunks, strict=True)
        ]
        is_shortened = [room < self._budget for room in rooms]
        counts = self._tokenizer.count_tokens(texts)
        for row, (count, span) in enumerate(zip(counts, spans, strict=True)):
            if count > self._max_tokens >= span.num_tokens:  # joining made more tokens
                prefixes[row], texts[row], is_shortened[row] = "", chunks[row], True
        return PrefixedChunks(prefixes, texts, sum(is_shortened))

    def _room(self, span: ChunkSpan) -> int:
        room = self._max_tokens - span.num_tokens
        return self._budget if room < 0 else min(self._budget, room)

    def _rendered(self, cnm: Cnm, budget: int) -> str:
        return render_prefix(cnm, self._tokenizer, budget)
