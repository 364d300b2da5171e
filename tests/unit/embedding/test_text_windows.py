"""Windows over a text that is too long for a model."""

import numpy as np
import pytest
from typing_extensions import override

from scp_ray.embedding.hash_encoder import WordTokenizer
from scp_ray.embedding.text_windows import text_windows
from scp_ray.errors import EncoderError
from scp_ray.protocols import Int64Array

TOKENIZER = WordTokenizer()


class _PieceTokenizer:
    """Tokens of three letters; a text that starts inside a word has one token more."""

    def token_offsets(self, text: str) -> Int64Array:
        starts = np.arange(0, len(text), 3)
        return np.stack([starts, np.minimum(starts + 3, len(text))], axis=1)

    def count_tokens(self, texts: list[str]) -> list[int]:
        return [len(self.token_offsets(text)) + (not text.startswith("_")) for text in texts]


class _ExpandingTokenizer(_PieceTokenizer):
    """Every text alone has nine tokens."""

    @override
    def count_tokens(self, texts: list[str]) -> list[int]:
        return [9] * len(texts)


def test_text_that_fits_is_whole_with_its_white_space() -> None:
    for text in ("", "  ", " a b c \n"):
        assert text_windows(text, 3, TOKENIZER) == [text]


@pytest.mark.parametrize(
    ("max_tokens", "expected"),
    [
        (4, ["a b c d", "c d e f", "e f g"]),
        (3, ["a b c", "b c d", "c d e", "d e f", "e f g"]),
        (1, ["a", "b", "c", "d", "e", "f", "g"]),
        (6, ["a b c d e f", "d e f g"]),
    ],
)
def test_windows_overlap_by_half(max_tokens: int, expected: list[str]) -> None:
    assert text_windows("a b c d e f g", max_tokens, TOKENIZER) == expected


def test_part_that_has_more_tokens_alone_is_made_shorter() -> None:
    windows = text_windows("_" + "x" * 29, 4, _PieceTokenizer())  # type: ignore[arg-type]
    assert windows[0] == "_" + "x" * 11  # the start of the text has no token more
    assert set(windows[1:]) == {"x" * 9}
    assert windows[-1] == "x" * 9


def test_token_that_fits_nowhere_is_an_error() -> None:
    with pytest.raises(EncoderError, match="one token of a text has 9 tokens alone, more than 4"):
        text_windows("x" * 30, 4, _ExpandingTokenizer())  # type: ignore[arg-type]
