"""True names, and CHOP with a part of it taken away."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.signatures import (
    NamedPart,
    completed,
    name_at,
    read_true_names,
    separate,
    shown,
    true_annotations,
)
from scp_ray.records import ChunkAnnotation, ChunkSpan, Cnm

PARTS = [NamedPart(0, 100, "RXC-1"), NamedPart(100, 200, "RXC-2")]


def test_a_chunk_gets_the_name_at_its_middle() -> None:
    spans = [ChunkSpan(0, 60, 9), ChunkSpan(50, 140, 9), ChunkSpan(90, 150, 9)]
    annotations = true_annotations([*spans, ChunkSpan(300, 350, 9)], PARTS)
    models = [annotation.cnm.model for annotation in annotations]
    assert models == ["RXC-1", "RXC-1", "RXC-2", None]
    assert [annotation.starts_span for annotation in annotations] == [True, False, True, True]


def test_names_of_whole_documents_and_of_parts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "names.json"
    part = {"char_start": 0, "char_end": 9, "name": "K-1"}
    path.write_text(json.dumps({"a.md": "K-2", "b.md": [part]}))
    names = read_true_names(path)
    assert names == {"a.md": [NamedPart(0, None, "K-2")], "b.md": [NamedPart(0, 9, "K-1")]}
    assert name_at(10**9, names["a.md"]) == "K-2"
    assert name_at(9, names["b.md"]) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["a.md"], "expected an object of names"),
        ({"a.md": ""}, "'a.md': expected a name or a list"),
        ({"a.md": []}, "'a.md': expected a name or a list"),
        ({"a.md": [{"name": "x"}]}, r"'a.md': a part must be an object with the keys"),
        ({"a.md": [{"name": "x", "char_start": 5, "char_end": 5}]}, "0 <= char_start < char_end"),
        ({"a.md": [{"name": 7, "char_start": 0, "char_end": 5}]}, "and a name"),
        ({"a.md": [{"name": "x", "char_start": 0.5, "char_end": 5}]}, "0 <= char_start"),
    ],
)
def test_other_names_are_refused(tmp_path: Path, value: Any, message: str) -> None:
    path = tmp_path / "names.json"
    path.write_text(json.dumps(value))
    with pytest.raises(ConfigError, match=message):
        read_true_names(path)


def test_a_file_of_names_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*names\.json: No such file"):
        read_true_names(tmp_path / "names.json")
    (tmp_path / "names.json").write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        read_true_names(tmp_path / "names.json")


def test_fallback_fills_in_afterwards_what_the_fold_would_have() -> None:
    named = Cnm("kettle", ("kettle lid",), "K-1")
    annotations = [
        ChunkAnnotation(named, starts_span=True),
        ChunkAnnotation(named, starts_span=False),
        ChunkAnnotation(Cnm(nouns=("kettle cord",)), starts_span=True),
        ChunkAnnotation(Cnm(model="K-2"), starts_span=True),
    ]
    cnms = [annotation.cnm for annotation in completed(annotations)]
    assert cnms == [named, named, Cnm("kettle", ("kettle cord",), "K-1"), Cnm(model="K-2")]
    assert completed([]) == []


def test_without_continuity_every_chunk_is_a_span() -> None:
    cnm = Cnm(model="K-1")
    assert separate([cnm, cnm]) == [ChunkAnnotation(cnm, starts_span=True)] * 2


def test_a_prefix_shows_the_parts_asked_for(setting: Callable[..., CellSetting]) -> None:
    cnm = Cnm("kettle", ("kettle lid",), "K-1")
    assert shown(cnm, setting()) == cnm
    assert shown(cnm, setting(prefix_parts=["nouns"])) == Cnm(nouns=("kettle lid",))
    assert shown(cnm, setting(prefix_parts=["model", "category"])) == Cnm("kettle", (), "K-1")
    assert shown(cnm, setting(prefix_parts=[])) == Cnm()
