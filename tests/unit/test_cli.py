"""The command line: help, wrong use, exit codes."""

from pathlib import Path

import pytest

from scp_ray import __version__
from scp_ray.cli import build_parser, main

COMMANDS = ["index", "plan", "query", "evaluate", "serve", "doctor"]


def _exit_code(*argv: str) -> int:
    try:
        return main(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("--version") == 0
    assert capsys.readouterr().out == f"scp-ray {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code(command, "--help") == 0
    shown = capsys.readouterr().out
    assert f"scp-ray {command}" in shown
    assert "example" in shown
    assert "--set" in shown


def test_top_help_names_every_command_and_the_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _exit_code("--help") == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)
    assert "exit codes" in shown


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "COMMAND"),
        (["fly"], "invalid choice"),
        (["index", "corpus"], "INDEX"),
        (["query", "index", "x", "--set", "retrieval.top_q=3"], "did you mean 'retrieval.top_k'"),
        (["query", "index", "x", "--config", "absent.yaml"], "cannot read settings file"),
        (["query", "index"], "give either a QUESTION or --file"),
        (["query", "index", "x", "--file", "f"], "give either a QUESTION or --file"),
        (["query", "index", "x", "--top-k", "0"], "top_k"),
        (["query", "index", "x", "--filter", "{"], "--filter: not JSON"),
        (["query", "index", "x", "--filter", "[]"], "--filter: expected a JSON object"),
        (["query", "index", " "], "query is empty"),
        (["serve", "index", "--port", "99999"], "serve.port"),
    ],
)
def test_wrong_use_is_explained(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit_code(*argv) == 2
    assert message in capsys.readouterr().err


def test_failure_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("query", str(tmp_path / "nothing"), "x") == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("scp-ray query: ")
    assert "no index here" in captured.err
    assert captured.err.count("\n") == 1


def test_bad_query_file_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"query_id": "a", "query": "b", "relevant": []}\nnot json\n')
    assert _exit_code("query", str(tmp_path), "--file", str(file)) == 1
    assert "line 2" in capsys.readouterr().err


def test_parser_is_built_afresh() -> None:
    assert build_parser() is not build_parser()
