"""The long document that is made from a seed."""

from pathlib import Path

import pytest

from benchmarks.long_document import write_long_document
from scp_ray.annotators.lines import read_lines


def made(path: Path, megabytes: float, seed: int) -> str:
    write_long_document(path, megabytes, seed)
    return path.read_text(encoding="ascii")


@pytest.mark.parametrize("megabytes", [0.01, 0.1])
def test_it_has_its_size(tmp_path: Path, megabytes: float) -> None:
    text = made(tmp_path / "long.md", megabytes, 1)
    assert megabytes * 1e6 <= len(text) < megabytes * 1e6 + 300


def test_a_seed_gives_one_text_and_a_longer_one_begins_with_it(tmp_path: Path) -> None:
    text = made(tmp_path / "long.md", 0.01, 1)
    assert made(tmp_path / "long.md", 0.02, 1).startswith(text)
    assert not made(tmp_path / "long.md", 0.02, 2).startswith(text)


def test_it_has_titles_and_headings(tmp_path: Path) -> None:
    lines = read_lines(made(tmp_path / "long.md", 0.1, 1))
    levels = [line.level for line in lines if line.level]
    assert {1, 2} == set(levels)
    assert len(levels) > 20
