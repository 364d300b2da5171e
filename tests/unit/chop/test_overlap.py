"""The text that two neighbouring chunks share."""

import pytest

from scp_ray.chop.overlap import shared_characters


@pytest.mark.parametrize(
    ("chunk", "next_chunk", "shared"),
    [
        ("one two three four", "three four five", len("three four")),
        ("one two", "three four five", 0),
        ("one two", "", 0),
        ("abc abc abc abc ", "abc abc abc abc x", 16),
        ("ends so", "so it goes", 0),  # too short to be an overlap of windows
    ],
)
def test_shared_text_is_found(chunk: str, next_chunk: str, shared: int) -> None:
    assert shared_characters(chunk, next_chunk) == shared
