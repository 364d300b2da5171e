"""Files of YAML: anchors and merges as ever, and one of each key."""

from pathlib import Path

import pytest

from scp_ray.errors import ConfigError
from scp_ray.yaml_file import read_yaml


def test_merged_keys_may_be_written_again(tmp_path: Path) -> None:
    file = tmp_path / "merged.yaml"
    file.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n")
    expected = {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}
    assert read_yaml(file, "the file") == expected


@pytest.mark.parametrize("text", ["a: 1\na: 1\n", "x: [{b: 1, a: 2, 'a': 3}]", "- {1: a, 1: b}"])
def test_a_key_that_stands_twice_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "twice.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"(?s)the file is not YAML.*stands twice.*line \d"):
        read_yaml(file, "the file")


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text("# nothing\n")
    assert read_yaml(file, "the file") is None
