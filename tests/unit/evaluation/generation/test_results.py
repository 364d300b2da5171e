"""What measured answers leave in a folder."""

import json
from pathlib import Path

from scp_ray.evaluation.generation.report import report_generation
from scp_ray.evaluation.generation.results import figures_tree, question_rows, write_results
from scp_ray.evaluation.generation.scoring import Measured


def test_figures_name_their_set_up(measured: Measured) -> None:
    tree = figures_tree(measured)
    assert tree["num_questions"] == 2
    assert tree["num_without_answer"] == 5
    assert tree["bert"] == {"model": "MiniLM", "layer": 6, "is_encoder": True, "num_cut": 2}
    assert tree["by_passages"]["1"]["token_f1"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert tree["by_passages"]["3"]["num_not_stated"] == 1
    assert len(tree["paper"]) == 9


def test_rows_tell_answers_verdicts_and_passages(measured: Measured) -> None:
    first, second, third, _ = question_rows(measured)
    assert first["passages"] == [{"doc_id": "a.md", "chunk_index": 0}]
    assert len(second["passages"]) == 3
    assert second["sentences"][1] == {"text": "Then go.", "is_supported": False}
    assert second["token_f1"] == 0.571429
    assert third["failure"] == "no answer in time"
    assert "token_f1" not in third


def test_the_same_answers_give_the_same_bytes(measured: Measured, tmp_path: Path) -> None:
    tree, report = {"answer": "half \ud800 of it"}, report_generation(measured)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_results(tmp_path / name, tree, report)
    assert json.loads((tmp_path / "one" / "generation.json").read_text()) == {
        "answer": "half ? of it"
    }
    for file in ("generation.json", "generation.html"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
