"""Text of others on terminals and pages."""

import pytest

from scp_ray.evaluation.pages.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain été 日本 👩\u200d🔧", "plain été 日本 👩\u200d🔧"),
        ("a\n\tb", "a\n\tb"),
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("a\u202eb", r"a\u202eb"),
        ("a\rb\x00", r"a\rb\x00"),
        ("\ud800", r"\ud800"),
        ("a\u00a0b\u2028c", "a b c"),
    ],
)
def test_what_would_steer_or_hide_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
