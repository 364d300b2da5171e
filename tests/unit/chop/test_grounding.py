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
