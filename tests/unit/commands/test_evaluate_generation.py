"""Measuring answers on the command line: help, and wrong use told before anything starts."""

import json
from pathlib import Path

import pytest

from scp_ray.cli import run_job
from scp_ray.commands import evaluate_generation

ROW = {"query_id": "q1", "query": "How long?", "relevant": []}
VLLM = ["--set", "chop.annotator=vllm"]


def _exit_code(*argv: str) -> int:
    try:
        return run_job(evaluate_generation, "evaluate_generation.py", list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)


def test_help_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("--help") == 0
    shown = capsys.readouterr().out
    assert "usage: evaluate_generation.py" in shown
    assert "examples:" in shown
    assert "--set" in shown


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["index", "QUERIES"], "--out"),
        (["index", "QUERIES", "--out", "OUT"], "chop.annotator is heuristic, but answers need"),
        (["index", "QUERIES", "--out", "OUT", *VLLM], "name it with llm.model"),
        (["index", "QUERIES", "--out", "OUT", "--set", "llm.modle=x"], "did you mean 'llm.model'"),
    ],
)
def test_wrong_use_is_explained(
    argv: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"QUERIES": str(tmp_path / "queries.jsonl"), "OUT": str(tmp_path / "out")}
    assert _exit_code(*(places.get(word, word) for word in argv)) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "evaluate_generation.py" in shown


def test_questions_without_any_answer_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries, out = tmp_path / "queries.jsonl", tmp_path / "out"
    queries.write_text(json.dumps({**ROW, "answer": " "}) + "\n", encoding="utf-8")
    more = [*VLLM, "--set", "llm.model=absent"]
    assert _exit_code("index", str(queries), "--out", str(out), *more) == 1
    assert "no question has an answer to compare with" in capsys.readouterr().err
    assert not out.exists()
