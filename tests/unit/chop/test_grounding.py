"""Signatures are held to what their chunk says."""

import pytest

from scp_ray.chop.grounding import grounded
from scp_ray.records import Cnm


@pytest.mark.parametrize("model", ["Ostra K1", "ostra k1", "OstraK1", "K1"])
def test_a_model_that_the_chunk_names_stays(model: str) -> None:
    cnm = Cnm("kettle", ("kettle lid",), model)
    assert grounded(cnm, "The lid of the\nOstra  K1 closes.") == cnm


def test_a_model_that_is_made_up_goes_and_the_rest_stays() -> None:
    cnm = Cnm("kettle", ("kettle lid",), "Ostra K2")
    assert grounded(cnm, "The lid of the Ostra K1.") == Cnm("kettle", ("kettle lid",), None)


def test_nothing_is_nothing() -> None:
    assert grounded(Cnm(), "The lid.") == Cnm()


@pytest.mark.parametrize(
    ("model", "chunk"),
    [
        ("Velaris BX-40", "The Velaris BX\u201140 sees."),
        ("BX-40", "The \uff22\uff38\uff0d\uff14\uff10 sees."),
        ("Café 2", "The Cafe\u0301 2 brews."),
        ("Ostra K1", "The Ostra® **K1** and a zero-\u200bwidth space: Os\u200btra K1."),
        ("K1", "使用K1时"),
    ],
)
def test_ways_to_write_a_name_are_one(model: str, chunk: str) -> None:
    assert grounded(Cnm(model=model), chunk).model == model


@pytest.mark.parametrize(
    ("model", "chunk"),
    [
        ("K1", "The Ostra K10."),
        ("T2", "Set 2 cups."),
        ("S", "Press it."),
        ("Ostra K1", "Ostra K12"),
    ],
)
def test_a_part_of_a_longer_name_is_no_name(model: str, chunk: str) -> None:
    assert grounded(Cnm(model=model), chunk).model is None
