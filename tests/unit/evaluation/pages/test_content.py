"""How figures are written."""

from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.pages.content import decimal, percent, percent_range, shortened

SHARE = Interval(0.1006, 0.0776, 0.1294)


def test_shares_and_numbers() -> None:
    assert (percent(SHARE), percent_range(SHARE)) == ("10.1 %", "7.8 to 12.9 %")
    assert decimal(0.6799) == "0.68"


def test_what_is_not_known_is_a_dash() -> None:
    assert percent(None) == percent_range(None) == decimal(None) == "-"


def test_long_tables_say_what_they_leave_out() -> None:
    table = shortened(("a",), [("1",), ("2",), ("3",)], 2)
    assert table is not None
    assert (table.rows, table.num_left_out) == ((("1",), ("2",)), 1)
    assert shortened(("a",), [], 2) is None
