"""Boundaries between products against decisions, on a text small enough to count by hand."""

import pytest

from benchmarks.continuity_figures import (
    BODY,
    HEADING,
    NEW_TITLE,
    SEEN_TITLE,
    Pair,
    boundary_figures,
    carried,
    name_figures,
    pairs_of,
)
from benchmarks.signature_accuracy import Stretch
from scp_ray.records import Cnm

KETTLE = "Fill the kettle. Rinse it now. Switch it on. Wait a while.\n"
TOASTER = "Lumo T2\nPut bread in. Press the lever.\n# Crumbs\nEmpty the tray."
TEXT = KETTLE + TOASTER
BEGIN = len(KETTLE)
PARTS = [Stretch("a", 0, BEGIN, "K-1"), Stretch("a", BEGIN, len(TEXT), "T2")]


def windows(*starts: int, size: int = 40) -> list[tuple[int, int]]:
    return [(start, min(start + size, len(TEXT))) for start in starts]


def test_the_boundary_is_the_first_pair_that_shows_the_new_part() -> None:
    spans = windows(0, 25, 50, 75)
    assert spans[1][1] > BEGIN
    kinds = [pair.kind for pair in pairs_of(TEXT, spans, PARTS)]
    assert kinds == [NEW_TITLE, SEEN_TITLE, HEADING]


def test_without_further_parts_there_is_no_boundary() -> None:
    kinds = {pair.kind for pair in pairs_of(TEXT, windows(0, 25, 50, 75), PARTS[:1])}
    assert kinds == {BODY, HEADING}


def test_a_part_that_begins_with_a_chunk_is_a_boundary() -> None:
    [pair] = pairs_of(TEXT, [(0, BEGIN), (BEGIN, len(TEXT))], PARTS)
    assert pair.is_boundary


def test_false_decisions_are_counted_against_boundaries() -> None:
    pairs = [Pair(0, BODY), Pair(1, NEW_TITLE), Pair(2, SEEN_TITLE), Pair(3, NEW_TITLE)]
    continues = {0: True, 1: False, 2: False, 3: True, 9: False}
    figures = boundary_figures(pairs, continues)
    assert (figures["boundaries"], figures["found"], figures["false_alarms"]) == (2, 1, 1)
    assert (figures["precision"], figures["recall"]) == (0.5, 0.5)
    assert figures["false_by_kind"][SEEN_TITLE] == {"pairs": 1, "false": 1}
    assert figures["false_by_kind"][HEADING] == {"pairs": 0, "false": 0}


@pytest.mark.parametrize("continues", [True, False])
def test_what_is_divided_by_nothing_is_not_known(continues: bool) -> None:
    figures = boundary_figures([Pair(0, BODY)], {0: continues})
    assert figures["recall"] is None
    assert figures["precision"] == (None if continues else 0.0)


def test_a_span_without_a_model_takes_that_of_the_span_before() -> None:
    cnms = {
        0: Cnm("kettle", (), "K-1"),
        1: Cnm(None, ("lid",), None),
        3: Cnm("toaster", (), "T2"),
        4: Cnm("tray", (), None),
    }
    assert carried([False, True, False, False], cnms) == {
        0: cnms[0],
        1: Cnm("kettle", ("lid",), "K-1"),
        3: cnms[3],
        4: Cnm("tray", (), "T2"),
    }


def test_the_first_span_has_nothing_to_take_from() -> None:
    assert carried([False], {0: Cnm(), 1: Cnm(model="T2")}) == {0: Cnm(), 1: Cnm(model="T2")}


def test_names_are_right_missing_of_the_text_or_made_up() -> None:
    spans = windows(0, 25, 50, 75)
    names = [None, "lumo  t2", "T2", "Press"]
    cnms = {index: Cnm(model=name) for index, name in enumerate(names)}
    assert name_figures(cnms, TEXT, spans, PARTS) == {
        "right": 2,
        "none": 1,
        "another of the text": 1,
        "made up": 0,
    }
    made_up = name_figures({0: Cnm(model="K-2")}, TEXT, spans, PARTS)
    assert made_up["made up"] == 1
