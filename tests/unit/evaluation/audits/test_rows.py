"""What cells may hold."""

from typing import Any

import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.rows import Row, require_unique


def _row(value: object, *, is_csv: bool = False) -> Row:
    return Row("file, line 2", {"x": value} if value is not None else {}, is_csv)


@pytest.mark.parametrize(
    ("value", "text"), [(" a b ", "a b"), (7, "7"), (None, None), ("é\u200d", "é\u200d")]
)
def test_texts(value: object, text: str | None) -> None:
    assert _row(value).text("x") == text


@pytest.mark.parametrize(
    ("value", "number"),
    [("3", 3), (" 3 ", 3), ("3.0", 3), ("+3", 3), (3, 3), (3.0, 3), (None, None)],
)
def test_whole_numbers(value: object, number: int | None) -> None:
    assert _row(value).whole_number("x", 1, 5) == number


@pytest.mark.parametrize("value", [True, "true", "YES", " pass ", 1, "1"])
def test_what_is_true(value: object) -> None:
    assert _row(value).verdict("x") is True


@pytest.mark.parametrize("value", [False, "False", "no", "FAIL", 0, "0"])
def test_what_is_false(value: object) -> None:
    assert _row(value).verdict("x") is False


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("b; A  c ;", ("a c", "b")),
        (["B", "a"], ("a", "b")),
        ([], ()),
        (";", ()),
        (None, None),
    ],
)
def test_names_are_sorted_and_alike_in_form(value: object, names: tuple[str, ...] | None) -> None:
    assert _row(value).names("x") == names


def test_blank_cell_of_csv_is_an_empty_list() -> None:
    assert _row(None, is_csv=True).names("x") == ()


@pytest.mark.parametrize(
    ("method", "value", "reason"),
    [
        ("text", 1.5, "x is not a text: 1.5"),
        ("text", True, "x is not a text: True"),
        ("text", ["a"], "x is not a text"),
        ("text", "\ud800", "x has half of a surrogate pair"),
        ("required_text", None, "x is blank"),
        ("verdict", "maybe", "x is neither true nor false: 'maybe'"),
        ("verdict", None, "x is neither true nor false: None"),
        ("verdict", 2, "x is neither true nor false: 2"),
        ("names", 3, "x is not a list of names: 3"),
        ("names", ["a", None], "x is not a list of names"),
        ("names", "a;A", "x repeats a name: 'a;A'"),
        ("names", ["\udfff"], "x has half of a surrogate pair"),
    ],
)
def test_other_cells_are_refused(method: str, value: object, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"^file, line 2: {reason}"):
        getattr(_row(value), method)("x")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("three", "x is not a whole number: 'three'"),
        ("3.5", "x is not a whole number: '3.5'"),
        (3.5, "x is not a whole number: 3.5"),
        (float("inf"), "x is not a whole number: inf"),
        (True, "x is not a whole number: True"),
        ("٣", "x is not a whole number: '٣'"),
        ("9" * 5000, "x is not a whole number"),
        (0, "x is 0, not from 1 to 5"),
        ("6", "x is 6, not from 1 to 5"),
        ("-3", "x is -3, not from 1 to 5"),
        (None, "x is blank"),
    ],
)
def test_numbers_out_of_range_are_refused(value: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"^file, line 2: {reason}"):
        _row(value).required_number("x", 1, 5)


def test_repeated_keys_name_both_rows() -> None:
    rows = [Row(f"f, line {number}", {}) for number in (2, 3, 4)]
    require_unique(rows, ["a", "b", "c"], "id")
    with pytest.raises(ConfigError, match="f, line 4: id 'a' was used before, in f, line 2"):
        require_unique(rows, ["a", "b", "a"], "id")
