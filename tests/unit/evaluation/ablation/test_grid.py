"""The grid: crosses, named cells, each setting once."""

from collections.abc import Callable
from typing import Any

import pytest

from scp_ray.config import Settings
from scp_ray.errors import ConfigError
from scp_ray.evaluation.ablation.config import AblationConfig, CellSetting, product_setting
from scp_ray.evaluation.ablation.grid import (
    Grid,
    differences,
    factor_values,
    make_grid,
    setting_key,
    show_value,
)

SET = {"corpus": "texts", "queries": "questions.jsonl"}


def _grid(*studies: dict[str, Any], **config: Any) -> Grid:
    tree = {"sets": {"a": SET, "b": SET}, "studies": list(studies), **config}
    return make_grid(AblationConfig.model_validate(tree), product_setting(Settings()))


def test_several_factors_are_crossed_around_the_base() -> None:
    study = {"name": "x", "vary": {"min_index_gap": [1, 2], "overlap_tokens": [0, 50, 100]}}
    [cells] = _grid(study).studies
    crossed = [(one.min_index_gap, one.overlap_tokens) for one in cells.settings]
    assert crossed == [(1, 0), (1, 50), (1, 100), (2, 0), (2, 50), (2, 100)]
    assert list(cells.settings.values())[:2] == ["1, 0", "1, 50"]


def test_cells_may_have_names() -> None:
    cells = {"long": {"chunk_size_tokens": 500, "overlap_tokens": 100}, "as it is": {}}
    grid = _grid({"name": "x", "cells": cells})
    [study] = grid.studies
    assert list(study.settings.values()) == ["long", "as it is"]
    assert list(study.settings)[1] == grid.base


def test_a_setting_of_several_studies_is_one_cell_of_each_set() -> None:
    first = {"name": "x", "vary": {"min_index_gap": [1, 2, 3]}}
    second = {"name": "y", "vary": {"min_index_gap": [2, 3, 4]}, "sets": ["b"]}
    grid = _grid(first, second, base={"min_index_gap": 3})
    assert [one.min_index_gap for one in grid.cells["a"]] == [3, 1, 2]
    assert [one.min_index_gap for one in grid.cells["b"]] == [3, 1, 2, 4]
    assert grid.num_cells == 7


def test_a_wrong_value_is_refused_with_its_study() -> None:
    with pytest.raises(ConfigError, match=r"^study 'x': min_index_gap: .* got 0$"):
        _grid({"name": "x", "vary": {"min_index_gap": [1, 0]}})
    with pytest.raises(ConfigError, match=r"^study 'x', cell 'c': unknown key 'gap'$"):
        _grid({"name": "x", "cells": {"c": {"gap": 1}}})
    with pytest.raises(ConfigError, match=r"^base: top_k: "):
        _grid({"name": "x", "vary": {"min_index_gap": [1]}}, base={"top_k": "ten"})


def test_true_names_must_be_there_for_the_annotator_that_writes_them() -> None:
    with pytest.raises(ConfigError, match=r"sets\.a\.true_names is missing"):
        _grid({"name": "x", "vary": {"annotator": ["true_name"]}})


def test_a_huge_cross_is_refused_before_it_is_made() -> None:
    factors = ["position_weight", "lexical_weight", "smoothing", "mmr_lambda", "prior_gate", "b"]
    vary = {name: [place / 10 for place in range(11)] for name in factors}
    with pytest.raises(ConfigError, match="ask for 3543122 cells, and at most 5000"):
        _grid({"name": "x", "vary": vary})


def test_keys_tell_settings_and_contents_apart(setting: Callable[..., CellSetting]) -> None:
    base = setting()
    keys = {
        setting_key(base, "content"),
        setting_key(base, "other content"),
        setting_key(setting(smoothing=0.1), "content"),
        setting_key(base.variant, "content"),
    }
    assert len(keys) == 4
    assert setting_key(setting(), "content") in keys
    assert setting_key(setting(smoothing=0.1).variant, "content") in keys


def test_a_cell_is_described_by_what_differs(setting: Callable[..., CellSetting]) -> None:
    changed = setting(smoothing=0.1, prefix_parts=["model"])
    assert differences(changed, setting()) == {"prefix_parts": ["model"], "smoothing": 0.1}
    assert factor_values(changed, ["smoothing", "selector"]) == {
        "smoothing": 0.1,
        "selector": "gap",
    }
    shown = [show_value(value) for value in (True, 0.10, ["model", "nouns"], [], 3, "gap")]
    assert shown == ["on", "0.1", "model + nouns", "none", "3", "gap"]


def test_two_names_for_the_same_factors_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"study 'x', cell 'B': the same factors as cell 'A'"):
        _grid({"name": "x", "cells": {"A": {"k1": 1.0}, "B": {"k1": 1.0}}})


def test_values_that_differ_little_are_shown_apart() -> None:
    [study] = _grid({"name": "x", "vary": {"k1": [1.0000001, 1.0000002]}}).studies
    assert list(study.settings.values()) == ["1.0000001", "1.0000002"]
