"""Made manuals, and the ways in which they change."""

import random
from difflib import SequenceMatcher

import pytest

from benchmarks.changing_manuals import (
    Change,
    add_at_end,
    changed,
    edit_somewhere,
    insert_near_start,
    make_manuals,
)


def test_manuals_are_the_same_whatever_their_count() -> None:
    manuals = make_manuals(20, seed=1)
    assert list(make_manuals(5, seed=1).items()) == list(manuals.items())[:5]
    assert len(set(manuals.values())) == 20
    assert make_manuals(5, seed=2) != make_manuals(5, seed=1)


@pytest.mark.parametrize("seed", range(20))
def test_edit_exchanges_one_word(seed: int) -> None:
    (text,) = make_manuals(1, seed).values()
    before, after = text.split(" "), edit_somewhere(text, random.Random(seed)).split(" ")
    assert len(before) == len(after)
    assert sum(word != other for word, other in zip(before, after, strict=True)) == 1


@pytest.mark.parametrize(("change", "earliest"), [(add_at_end, 1.0), (insert_near_start, 0.0)])
def test_additions_are_at_their_place_and_keep_the_rest(change: Change, earliest: float) -> None:
    (text,) = make_manuals(1, seed=1).values()
    before, after = text.splitlines(), change(text, random.Random(1)).splitlines()
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    ((_, start, end, new_start, new_end),) = [one for one in changes if one[0] != "equal"]
    assert start == end
    assert new_end > new_start
    assert earliest <= start / len(before) <= earliest + 0.2


def test_so_many_manuals_change_and_not_always_the_same() -> None:
    manuals = make_manuals(50, seed=1)
    rng = random.Random(1)
    first, second = (changed(manuals, edit_somewhere, 10, rng) for _ in range(2))
    assert len(first) == len(second) == 10
    assert first.keys() != second.keys()
    assert all(text != manuals[doc_id] for doc_id, text in first.items())
