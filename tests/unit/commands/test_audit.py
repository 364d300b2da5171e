"""The audits on the command line: help, and wrong use told in one line."""

from pathlib import Path

import pytest

from scp_ray.cli import main

Capture = pytest.CaptureFixture[str]

REVIEWS = "id,rating,labels,flags,narrative,template,stratum,reviewer\n"
RATINGS = "case,slice,rater,score,pass\n"


def _exit_code(*argv: str) -> int:
    try:
        return main(["audit", *argv])
    except SystemExit as stop:
        return int(stop.code or 0)


@pytest.mark.parametrize("part", ["text", "ocr", "sample"])
def test_help_teaches_by_example(part: str, capsys: Capture) -> None:
    assert _exit_code(part, "--help") == 0
    shown = capsys.readouterr().out
    assert f"scp-ray audit {part}" in shown
    assert "examples:" in shown
    assert "--set" in shown


def test_help_of_all_names_each(capsys: Capture) -> None:
    assert _exit_code("--help") == 0
    shown = capsys.readouterr().out
    assert all(f"scp-ray audit {part}" in shown for part in ("text", "ocr", "sample"))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "PART"),
        (["fly"], "invalid choice"),
        (["text"], "FILE"),
        (["text", "absent.csv"], "cannot read absent.csv"),
        (["ocr", "reviews.xlsx"], "expected a name that ends in .csv, .jsonl, .parquet"),
        (["sample", "index", "q.jsonl"], "--out"),
        (["sample", "index", "q.jsonl", "--out", "sheet.txt"], "expected a name that ends in"),
        (["sample", "index", "q.jsonl", "--out", "s.csv", "--size", "0"], "--size is 0"),
    ],
)
def test_wrong_use_is_explained(
    argv: list[str], message: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _exit_code(*argv) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("text", REVIEWS + "a,3,,,,,,\nb,6,,,,,,\n", "file.csv, line 3: rating is 6"),
        ("text", REVIEWS + "a,,,,,,,\n", "no review is fully labelled"),
        ("ocr", RATINGS + "a,s,r,9,yes\n", "file.csv, line 2: score is 9"),
        ("ocr", REVIEWS, "no column case, slice, rater, score, pass"),
    ],
)
def test_bad_file_is_one_line_and_leaves_no_report(
    part: str, content: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "file.csv").write_text(content)
    assert _exit_code(part, str(tmp_path / "file.csv"), "--out", str(tmp_path / "out")) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert not (tmp_path / "out").exists()
