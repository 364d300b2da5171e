"""The Markdown table of the README."""

from pathlib import Path

import pytest

from benchmarks.figures import Result
from benchmarks.table import BEGIN, END, main, replaced

ENVIRONMENT = {
    "date": "2030-01-02T03:04:05+00:00",
    "commit": "0123456789abcdef",
    "uncommitted_changes": True,
    "cpu": "Example 9000",
    "cores": 2,
    "memory_gib": 16.0,
    "gpu": None,
    "versions": {"torch": "2", "faiss-cpu": "1", "ray": "3"},
    "data": {"name": "examples/manuals", "sha256": "0" * 64},
}
LIMITS = """
[[figure]]
result = "bench"
path = "ratio"
title = "Ours against theirs"
max_value = 1.2
"""


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS)
    Result(ENVIRONMENT, {}, {"ratio": 1.125}).write("bench", tmp_path)
    return ["--results", str(tmp_path), "--thresholds", str(limits)]


def test_table_has_figures_and_where_they_are_from(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out == (
        "| Figure | Measured | Required |\n"
        "|---|---|---|\n"
        "| Ours against theirs | 1.125 | at most 1.2 |\n"
        "\n"
        "- `bench`: 2030-01-02, commit 0123456789+, 2 cores of Example 9000, 16 GiB, no GPU; "
        "torch 2, faiss-cpu 1, ray 3; data examples/manuals\n"
    )


def test_write_replaces_what_is_between_the_markers(tmp_path: Path, arguments: list[str]) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    for _ in range(2):
        assert main([*arguments, "--write", str(readme)]) == 0
    text = readme.read_text()
    assert "old" not in text
    assert text.startswith(f"before\n\n{BEGIN}\n| Figure |")
    assert text.endswith(f"examples/manuals\n{END}\n\nafter\n")


@pytest.mark.parametrize("text", ["nothing\n", f"{BEGIN}\n", f"{END}\n{BEGIN}\n"])
def test_write_leaves_a_file_without_markers_alone(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str], text: str
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text)
    assert main([*arguments, "--write", str(readme)]) == 1
    assert readme.read_text() == text
    assert BEGIN in capsys.readouterr().err


def test_replaced_keeps_the_rest_to_the_letter() -> None:
    text = f"  a\r{BEGIN} x {END}{BEGIN}b"
    assert replaced(text, "T") == f"  a\r{BEGIN}\nT\n{END}{BEGIN}b"
