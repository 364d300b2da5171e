"""Repeated wording."""

import pytest

from scp_ray.evaluation.repetition import repeated_share

EIGHT = "press and hold the green button for three"
OTHER = "lift the lid and take out the basket"


@pytest.mark.parametrize(
    ("texts", "share"),
    [
        ([], 0.0),
        (["", "  "], 0.0),
        ([EIGHT], 0.0),
        ([EIGHT, EIGHT], 8 / 16),
        ([EIGHT, EIGHT.upper().replace(" ", "\n")], 8 / 16),  # case and white space do not count
        ([f"{EIGHT} {EIGHT}"], 8 / 16),  # within one text
        ([EIGHT, OTHER], 0.0),
        (["| --- " * 9, "| --- " * 9], 0.0),  # no words
        ([EIGHT, EIGHT.replace(" ", " | ")], 8 / 16),
        ([EIGHT, f"{OTHER} {EIGHT}"], 8 / 24),
        ([f"{EIGHT} seconds now", f"{EIGHT} seconds later"], 9 / 20),  # runs that overlap
        ([EIGHT, EIGHT.removeprefix("press ")], 0.0),  # seven words
        ([EIGHT, "press and hold the", "green button for three"], 0.0),  # runs lie in one text
        ([EIGHT, EIGHT, EIGHT], 16 / 24),
    ],
)
def test_words_in_runs_that_came_before(texts: list[str], share: float) -> None:
    assert repeated_share(texts) == pytest.approx(share)
