"""The ``Tokenizer`` port over a Hugging Face fast tokenizer."""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scp_ray.protocols import Int64Array

if TYPE_CHECKING:
    import tokenizers

_SEGMENT_CHARACTERS = 65_536
_SEGMENTS_PER_CALL = 64
_NOT_FOUND = -1


class SubwordTokenizer:
    """Counts and places the tokens of a model's own tokenizer.

    Long texts are tokenized in segments, because the tokenizer's result for one call is many times
    the size of the offsets that are kept of it. A segment begins with a single space before a word,
    which gives the tokens of the whole text; where there is none in 65,536 characters, with other
    white space, and where there is no white space, anywhere.

    The instance keeps a copy of the tokenizer, without truncation and padding.
    """

    def __init__(self, tokenizer: "tokenizers.Tokenizer") -> None:
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @classmethod
    def from_file(cls, path: Path) -> "SubwordTokenizer":
        """Read a ``tokenizer.json``."""
        import tokenizers

        return cls(tokenizers.Tokenizer.from_file(str(path)))

    def token_offsets(self, text: str) -> Int64Array:
        """Return half-open character offsets of the tokens of ``text``, shape (n, 2), ascending.

        Several tokens of one character (byte-level vocabularies) share its offsets.
        """
        offsets = array("q")  # grows in place: the peak is the result
        for start, segment in _segments(text):
            encoding = self._tokenizer.encode(segment, add_special_tokens=False)
            placed = np.asarray(encoding.offsets, dtype=np.int64) + start
            offsets.frombytes(placed.tobytes())
        return np.frombuffer(offsets, dtype=np.int64).reshape(-1, 2)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has on its own."""
        counts = [0] * len(texts)
        owners: list[int] = []
        pending: list[str] = []
        for row, text in enumerate(texts):
            for _, segment in _segments(text):
                owners.append(row)
                pending.append(segment)
                if len(pending) == _SEGMENTS_PER_CALL:
                    self._add_counts(counts, owners, pending)
                    owners, pending = [], []
        self._add_counts(counts, owners, pending)
        return counts

    def _add_counts(self, counts: list[int], owners: list[int], segments: list[str]) -> None:
        encodings = self._tokenizer.encode_batch_fast(segments, add_special_tokens=False)
        for row, encoding in zip(owners, encodings, strict=True):
            counts[row] += len(encoding)


def _segments(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = _segment_end(text, start)
        yield start, text[start:end]
        start = end


def _segment_end(text: str, start: int) -> int:
    limit = start + _SEGMENT_CHARACTERS
    if limit >= len(text):
        return len(text)
    cut = limit
    while (cut := text.rfind(" ", start + 1, cut)) != _NOT_FOUND:
        if not (text[cut - 1].isspace() or text[cut + 1].isspace()):
            return cut
    cut = max(text.rfind(space, start + 1, limit) for space in " \n\t")
    return limit if cut == _NOT_FOUND else cut
