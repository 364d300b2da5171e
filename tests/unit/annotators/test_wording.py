"""The word lists are in the form in which they are looked up."""

import pytest

from scp_ray.annotators import wording

LISTS = {
    name: words
    for name, words in vars(wording).items()
    if name.isupper() and isinstance(words, frozenset | tuple)
}


@pytest.mark.parametrize("name", LISTS)
def test_words_are_folded_as_they_are_looked_up(name: str) -> None:
    assert all(word == word.casefold() and word.strip() for word in LISTS[name])


def test_headings_that_open_a_document_may_have_several_words() -> None:
    assert {"contents", "getting started"} <= wording.OPENING_HEADINGS
