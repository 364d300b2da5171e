"""Chunks put together again."""

import time

from scp_ray.annotators.rejoin import rejoin

TEXT = "The lid is locked while water boils. Turn the dial to the left to open it again."


def windows(text: str, size: int, step: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text) - size + step, step)]


def test_overlapping_windows_give_the_text_back() -> None:
    chunks = windows(TEXT, 30, 18)
    rejoined = rejoin(chunks)
    assert rejoined.text == TEXT
    assert [rejoined.text[start:end] for start, end in rejoined.spans] == chunks


def test_chunks_without_overlap_are_parted_by_a_line_break() -> None:
    rejoined = rejoin(["Turn the dial.", "Open the lid."])
    assert rejoined.text == "Turn the dial.\nOpen the lid."
    assert rejoined.spans == [(0, 14), (15, 28)]


def test_a_few_equal_letters_are_no_overlap() -> None:
    assert rejoin(["Lift the lid", "lid and base"]).text == "Lift the lid\nlid and base"


def test_the_longest_overlap_counts() -> None:
    rejoined = rejoin(["one two three one two three", "one two three one two three four"])
    assert rejoined.text == "one two three one two three four"


def test_line_ends_are_made_one_kind() -> None:
    rejoined = rejoin(["Title\r\n\r\nFirst.\rSecond."])
    assert rejoined.text == "Title\n\nFirst.\nSecond."
    assert rejoined.spans == [(0, len(rejoined.text))]


def test_no_chunks() -> None:
    assert rejoin([]).text == ""


def test_repetition_takes_no_more_than_linear_time() -> None:
    chunk = "ab" * 200_000
    started = time.perf_counter()
    rejoin([chunk + "c", chunk + "d"])
    assert time.perf_counter() - started < 1.0
