"""Choosing on one half of the questions and reporting the other."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.held_out import METRICS, STUDY, choose, gains, read_cells, split

VALUES = {"0.5, 0, 1.2": [0.0, 1.0, 0.0], "0.7, 1, 0.9": [1.0, 1.0, 0.0]}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    keys = {shown: f"key {shown}" for shown in VALUES}
    study = {"name": STUDY, "cells": {"manuals": keys}}
    other = {"name": "Another", "cells": {}}
    tree = {"studies": [other, study]}
    (tmp_path / "ablation.json").write_text(json.dumps(tree), encoding="utf-8")
    rows = [
        {"set": name, "cell": keys[shown], "query_id": query_id, **dict.fromkeys(METRICS, value)}
        for name in ("manuals", "passages")
        for shown, values in VALUES.items()
        for query_id, value in zip(["b", "c", "a"], values, strict=True)
        if name == "manuals"
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "cells.parquet")
    return tmp_path


def test_cells_are_read_in_the_order_of_the_questions(out: Path) -> None:
    cells = read_cells(out, "manuals")
    assert {shown: cells[shown]["hit@1"].tolist() for shown in cells} == {
        "0.5, 0, 1.2": [0.0, 0.0, 1.0],
        "0.7, 1, 0.9": [0.0, 1.0, 1.0],
    }


def test_the_halves_share_no_question_and_leave_none_out() -> None:
    first, second = split(129)
    assert sorted(first + second) == list(range(129))
    assert (len(first), len(second)) == (64, 65)


def test_the_choice_sees_the_first_half_alone(out: Path) -> None:
    cells = read_cells(out, "manuals")
    assert choose({"manuals": cells}, {"manuals": ([1], [0, 2])}) == "0.7, 1, 0.9"
    worse = dict.fromkeys(METRICS, np.array([1.0, 0.0, 0.0]))
    better = dict.fromkeys(METRICS, np.array([0.0, 1.0, 1.0]))
    assert choose({"any": {"x": worse, "y": better}}, {"any": ([0], [1, 2])}) == "x"


def test_gains_are_of_the_questions_that_are_named(out: Path) -> None:
    cells = read_cells(out, "manuals")
    gained = gains(cells["0.5, 0, 1.2"], cells["0.7, 1, 0.9"], [1])["hit@1"]
    assert (gained["mean"], gained["num_better"], gained["num_worse"]) == (1.0, 1, 0)
