"""Prefixes: their template, their budget, and the text to embed."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from scp_ray.chop.prefix import embedding_text, render_prefix
from scp_ray.protocols import Int64Array
from scp_ray.records import EMPTY_CNM, Cnm

FULL = Cnm("room heater", ("Timer", "Weekly plan"), "Tarn Heat 40 Pro")


class WordTokenizer:
    """One token a word, and one a line break."""

    def token_offsets(self, text: str) -> Int64Array:
        offsets = [match.span() for match in re.finditer(r"\S+|\n", text)]
        return np.array(offsets, dtype=np.int64).reshape(-1, 2)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self.token_offsets(text)) for text in texts]


@pytest.mark.parametrize(
    ("budget_tokens", "expected"),
    [
        (40, "Tarn Heat 40 Pro room heater Timer Weekly plan"),
        (10, "Tarn Heat 40 Pro room heater Timer Weekly plan"),
        (9, "Tarn Heat 40 Pro room heater Timer"),
        (8, "Tarn Heat 40 Pro room heater Timer"),
        (7, "Tarn Heat 40 Pro room heater"),
        (6, "Tarn Heat 40 Pro"),
        (5, "Tarn Heat 40 Pro"),
        (4, "Tarn Heat 40"),
        (2, "Tarn"),
        (1, ""),
        (0, ""),
    ],
)
def test_nouns_go_first_then_the_category_then_words_of_the_model(
    budget_tokens: int, expected: str
) -> None:
    assert render_prefix(FULL, WordTokenizer(), budget_tokens) == expected


@pytest.mark.parametrize(
    ("cnm", "expected"),
    [
        (EMPTY_CNM, ""),
        (Cnm(category="room heater"), "room heater"),
        (Cnm(nouns=("Timer",)), "Timer"),
        (Cnm(model="Tarn Heat 40"), "Tarn Heat 40"),
        (Cnm("room heater", ("Timer",), None), "room heater Timer"),
    ],
)
def test_missing_fields_leave_nothing_behind(cnm: Cnm, expected: str) -> None:
    assert render_prefix(cnm, WordTokenizer(), 40) == expected


def test_a_category_without_a_model_is_left_out_whole() -> None:
    assert render_prefix(Cnm(category="room heater"), WordTokenizer(), 2) == ""


def test_the_chunk_follows_on_a_line_of_its_own_unchanged() -> None:
    assert embedding_text("Tarn Heat 40", " a chunk\n") == "Tarn Heat 40\n a chunk\n"


def test_without_a_prefix_the_chunk_is_embedded_as_it_is() -> None:
    assert embedding_text("", " a chunk\n") == " a chunk\n"
