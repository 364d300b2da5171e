"""Which texts are a CNM, and what is said of those that are not."""

import json

import pytest

from scp_ray.chop.parsing import (
    MAX_CNM_JSON_CHARACTERS,
    MAX_FIELD_CHARACTERS,
    clean_cnm,
    parse_cnm,
)
from scp_ray.errors import AnnotationError
from scp_ray.records import EMPTY_CNM, Cnm


def as_json(**changes: object) -> str:
    fields = {"category": "kettle", "nouns": ["kettle lid"], "model": "Ostra K1"}
    return json.dumps(fields | changes)


def test_a_full_cnm() -> None:
    assert parse_cnm(as_json()) == Cnm("kettle", ("kettle lid",), "Ostra K1")


def test_white_space_around_the_object_is_allowed() -> None:
    assert parse_cnm(f"\n  {as_json()} \n").model == "Ostra K1"


@pytest.mark.parametrize("missing", [None, "", "  ", "null", "None", "N/A", "\t n/a \n"])
def test_ways_to_say_that_a_field_is_missing(missing: str | None) -> None:
    assert parse_cnm(as_json(category=missing, nouns=[missing], model=missing)) == EMPTY_CNM


def test_null_nouns_are_none() -> None:
    assert parse_cnm(as_json(nouns=None)).nouns == ()


def test_white_space_is_folded() -> None:
    assert parse_cnm(as_json(model="  Ostra \n\t K1 ")).model == "Ostra K1"


def test_equal_nouns_count_once_and_the_first_spelling_wins() -> None:
    assert parse_cnm(as_json(nouns=["Kettle lid", "kettle LID"])).nouns == ("Kettle lid",)


def test_nouns_keep_their_order() -> None:
    assert parse_cnm(as_json(nouns=["lid", "base"])).nouns == ("lid", "base")


def test_a_field_may_have_the_longest_length_allowed() -> None:
    longest = "x" * MAX_FIELD_CHARACTERS
    assert parse_cnm(as_json(model=longest)).model == longest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("kettle", "not JSON"),
        (f"```json\n{as_json()}\n```", "not JSON"),
        (as_json() + "}", "not JSON"),
        ('{"category": 1' + "0" * 4000, "not JSON|not text"),
        ("[" * 4000, "not JSON"),
        ("[]", "must be an object with the keys .* got 'list'"),
        ("null", "must be an object"),
        ('{"category": null, "nouns": []}', "must be an object with the keys"),
        (as_json(brand="Ostra"), "must be an object with the keys .*brand"),
        ('{"category": "a", "category": "b", "nouns": [], "model": null}', "a key is repeated"),
        (as_json(nouns="lid"), "nouns must be an array or null, got 'lid'"),
        (as_json(nouns={"0": "lid"}), "nouns must be an array"),
        (as_json(nouns=["a", "b", "c"]), "3 nouns, the most is 2"),
        (as_json(nouns=[["lid"]]), "nouns must be text"),
        (as_json(model=225), "model must be text, got 225"),
        (as_json(category=True), "category must be text"),
        (as_json(model="K1\u0000"), "model has control characters"),
        (as_json(model="K1\u009b31m"), "model has control characters"),
        (as_json(category="\ud800"), "category has control characters"),
        (as_json(model="x" * (MAX_FIELD_CHARACTERS + 1)), "model has 121 characters, the most"),
        (as_json(model="x" * MAX_CNM_JSON_CHARACTERS), "the most is 4096"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        parse_cnm(text)


def test_raw_fields_follow_the_same_rules() -> None:
    assert clean_cnm(" kettle ", ("lid", None), "none") == Cnm("kettle", ("lid",), None)
