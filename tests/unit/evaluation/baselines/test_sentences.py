"""Where sentences begin and end."""

import time

import pytest

from scp_ray.evaluation.baselines.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def test_a_mark_before_white_space_and_no_small_letter_ends_a_sentence() -> None:
    assert sentences("  Turn it off. Is it cold? Then wait! Open it… 3 screws hold it.\n") == [
        "Turn it off.",
        "Is it cold?",
        "Then wait!",
        "Open it…",
        "3 screws hold it.",
    ]
    assert sentences("It stops at 3.5 bar, e. g. after a fault. then it starts") == [
        "It stops at 3.5 bar, e. g. after a fault. then it starts"
    ]


def test_quotes_and_brackets_belong_to_the_sentence_that_they_close() -> None:
    assert sentences('He says "Stop." (It stops.) “Now?” «Yes.» end') == [
        'He says "Stop."',
        "(It stops.)",
        "“Now?”",
        "«Yes.» end",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Ask Dr. Smith about it",
        "Made by J. K. Miller in the U.S. Army",
        "See Fig. 3 and No. 12",
        "Water (max. 40 degrees)",
        "1. Remove the filter",
        "(2. Rinse it)",
    ],
)
def test_abbreviations_and_list_numbers_end_no_sentence(text: str) -> None:
    assert sentences(text) == [text]


def test_no_is_a_word_too() -> None:
    assert sentences("Does it burn? No. Water boils.") == ["Does it burn?", "No.", "Water boils."]


def test_a_wrapped_line_goes_on_and_a_blank_line_ends() -> None:
    text = "The lamp\nis green\r\n\r\nThe lamp\nis red\n \t\nEnd"
    assert sentences(text) == ["The lamp\nis green", "The lamp\nis red", "End"]


def test_list_items_table_rows_and_headings_stand_alone() -> None:
    text = (
        "# Care e.g. Cleaning. Well\nUse:\n- soap\n- water\n2) rinse\n| a | b. C |\n|---|---|\nEnd"
    )
    assert sentences(text) == [
        "# Care e.g. Cleaning. Well",
        "Use:",
        "- soap",
        "- water",
        "2) rinse",
        "| a | b. C |",
        "|---|---|",
        "End",
    ]


def test_full_stops_of_chinese_and_japanese_need_no_white_space() -> None:
    assert sentences("水を入れる。「待つ。」終わり！") == ["水を入れる。", "「待つ。」", "終わり！"]


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_white_space_has_no_sentence(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.parametrize("unit", [".", " ", ". ", "x", "\n", ". \n", ".)", "。", "|\n", "#", "1. "])
def test_time_is_linear(unit: str) -> None:
    began = time.perf_counter()
    sentence_spans(f"A{unit * 200_000}b")
    assert time.perf_counter() - began < 5  # quadratic: minutes
