"""Servers in processes of their own: ready, used, and gone again."""

import sys
from pathlib import Path

import pytest

from benchmarks.serve_asking import Asker
from benchmarks.serve_process import parse_ready, serving


def test_only_the_line_of_a_ready_server_is_read() -> None:
    assert parse_ready("ready 8000 " + '{"recall": 1.0}' + "\n") == (8000, {"recall": 1.0})
    assert parse_ready("already 8000 {}\n") is None
    assert parse_ready("\n") is None


def test_server_answers_while_the_block_lasts_and_not_after() -> None:
    with serving(sys.executable, "benchmarks.serve_trivial", ["100"]) as served:
        with Asker(served.port) as asker:
            assert len(str(asker.call("POST", "/v1/query", {}))) == 98
        process = Path(f"/proc/{served.pid}")
        assert process.exists()
    assert not process.exists()
    with Asker(served.port) as asker, pytest.raises(ConnectionRefusedError):
        asker.call("POST", "/v1/query", {})


def test_server_that_does_not_start_says_why() -> None:
    with (
        pytest.raises(RuntimeError, match=r"(?s)serve_trivial did not start.*invalid int value"),
        serving(sys.executable, "benchmarks.serve_trivial", ["many"]),
    ):
        pass
