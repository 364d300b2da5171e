"""Measured answers from end to end: an index, a server that misbehaves, a real engine of vLLM."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from scp_ray.cli import run_job
from scp_ray.commands import evaluate_generation

pytestmark = pytest.mark.integration

JOB = Path(__file__).parents[2] / "jobs" / "evaluate_generation.py"
NUM_QUESTIONS = 6
REFERENCE = "Open the valve and wait."
Run = Callable[..., object]


@dataclass
class Script:
    """How the server behaves, and what it was asked.

    ``fault`` is given the content of a request, and how many requests came before.
    """

    fault: Callable[[str, int], str | None] = lambda _content, _before: None
    seen: list[dict[str, Any]] = field(default_factory=list)
    turn: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    """Chat completions: a question is answered with two sentences, the first is supported."""

    protocol_version = "HTTP/1.1"
    script: Script

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = body["messages"][1]["content"]
        with self.script.turn:
            fault = self.script.fault(content, len(self.script.seen))
            self.script.seen.append(body)
        if fault == "hang":
            self.script.ended.wait(30)
            self.close_connection = True
        elif fault == "garbage":
            self._send(200, b"<html>Login</html>")
        elif fault is not None:
            self._send(int(fault), b'{"error": {"message": "no"}}')
        else:
            self._send(200, completion(answer(content)))

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def answer(content: str) -> str:
    if "<statement>" in content:
        return "YES" if "valve" in content.rpartition("<statement>")[2] else "NO"
    return "Open the valve. Then press the blue key."


def completion(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


class Server(ThreadingHTTPServer):
    """Listens on loopback."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_arguments: object) -> None:
        """Say nothing of clients that went away."""


@contextmanager
def serving(script: Script) -> Iterator[str]:
    server = Server(("127.0.0.1", 0), type("Scripted", (Handler,), {"script": script}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        script.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def files(run: Run, tmp_path: Path) -> list[str]:
    """Index and query file of six questions with an answer, and one without."""
    run()
    rows = [
        {
            "query_id": f"q{n}",
            "query": f"K-{100 + n}: valve {n}?",
            "relevant": [],
            "answer": REFERENCE,
        }
        for n in range(NUM_QUESTIONS)
    ]
    rows.append({"query_id": "unanswered", "query": "lamp?", "relevant": []})
    queries = tmp_path / "queries.jsonl"
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return [str(tmp_path / "index"), str(queries)]


def arguments(files: list[str], out: Path, url: str, *more: str) -> list[str]:
    values = ["chop.annotator=openai", "llm.model=m", f"openai.base_url={url}"]
    values += ["openai.max_retries=1", "llm.timeout_s=1.5", *more]
    return [*files, "--out", str(out), *(word for value in values for word in ("--set", value))]


def measure(argv: list[str]) -> int:
    return run_job(evaluate_generation, "evaluate_generation.py", argv)


def results(out: Path) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads((out / "generation.json").read_text(encoding="utf-8"))
    return tree


def test_answers_are_scored_and_a_second_run_asks_nothing(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, out = Script(), tmp_path / "out"
    with serving(script) as url:
        argv = [*arguments(files, out, url), "--bert-model", "all-MiniLM-L6-v2"]
        assert measure(argv) == 0
        num_asked, first = len(script.seen), (out / "generation.json").read_bytes()
        assert measure(argv) == 0
    assert len(script.seen) == num_asked == NUM_QUESTIONS * 4 * 3  # an answer, two verdicts
    assert (out / "generation.json").read_bytes() == first

    tree = results(out)
    assert tree["num_without_answer"] == 1
    assert list(tree["by_passages"]) == ["1", "3", "5", "10"]
    for figures in tree["by_passages"].values():
        assert figures["num_answered"] == NUM_QUESTIONS
        assert figures["groundedness"]["mean"] == 0.5
        # open and valve, of six words and of four
        assert figures["token_f1"]["mean"] == 0.4
        assert 0.5 < figures["bert_score"]["mean"] < 1
    assert tree["bert"]["model"] == "all-MiniLM-L6-v2"
    shown = capsys.readouterr()
    assert "paper: CHOP" in shown.out
    assert "0 calls of the model" in shown.err
    assert "Beside Table 2 of CHOP" in (out / "generation.html").read_text(encoding="utf-8")


def test_a_question_that_is_not_answered_fails_alone(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = {"K-100": "429", "K-101": "500", "K-102": "garbage", "K-103": "hang", "K-104": "400"}

    def fault(content: str, _before: int) -> str | None:
        named = re.search(r"<question>(K-\d+)", content)
        return faults.get(named[1]) if named else None

    script, out = Script(fault), tmp_path / "out"
    with serving(script) as url:
        assert measure([*arguments(files, out, url), "--json"]) == 3
    shown = json.loads(capsys.readouterr().out)
    assert [one["num_failed"] for one in shown["by_passages"].values()] == [len(faults)] * 4
    assert [one["num_answered"] for one in shown["by_passages"].values()] == [1] * 4
    failed = {row["query_id"]: row["failure"] for row in results(out)["questions"]}
    assert failed.pop("q5") is None
    assert all(failed.values())
    assert "HTTP 429" in failed["q0"]
    assert "K-103" not in (out / "generation.html").read_text().partition("Without an answer")[0]


def test_a_server_that_answers_nothing_fails_the_run(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Script(lambda _content, _before: "503")) as url:
        assert measure(arguments(files, tmp_path / "out", url, "openai.max_retries=0")) == 1
    assert "no question was answered: no answer from" in capsys.readouterr().err


def test_used_up_calls_keep_what_was_answered(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, out = Script(), tmp_path / "out"
    with serving(script) as url:
        assert measure(arguments(files, out, url, "llm.max_calls=20")) == 1
        assert "the 20 calls of llm.max_calls are used up" in capsys.readouterr().err
        assert len(script.seen) == 20
        assert measure(arguments(files, out, url)) == 0
    assert len(script.seen) == NUM_QUESTIONS * 4 * 3


def test_a_run_that_is_killed_goes_on_from_what_it_kept(files: list[str], tmp_path: Path) -> None:
    num_answered, out = 30, tmp_path / "out"
    script = Script(lambda _content, before: "hang" if before >= num_answered else None)
    with serving(script) as url:
        argv = arguments(files, out, url, "llm.timeout_s=60")
        with subprocess.Popen([sys.executable, str(JOB), *argv], stderr=subprocess.DEVNULL) as job:
            deadline = time.monotonic() + 60
            while num_kept(out) < num_answered and time.monotonic() < deadline:
                time.sleep(0.1)
            job.kill()
        assert job.returncode == -9
    again = Script()
    with serving(again) as url:
        assert measure(arguments(files, out, url)) == 0
    assert len(again.seen) == NUM_QUESTIONS * 4 * 3 - num_answered


def num_kept(out: Path) -> int:
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(part).num_rows for part in out.glob("annotations/*/*.parquet"))


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch and vLLM, at import
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_real_engine_answers_and_judges(
    files: list[str], tiny_llm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    queries = Path(files[1])
    first = queries.read_text(encoding="utf-8").splitlines(keepends=True)[0]
    queries.write_text(first, encoding="utf-8")
    values = ["chop.annotator=vllm", f"llm.model={tiny_llm}", "vllm.enforce_eager=true"]
    out = tmp_path / "out"
    argv = [*files, "--out", str(out), *(word for value in values for word in ("--set", value))]
    assert measure(argv) in {0, 3}
    rows = results(out)["questions"]
    assert [row["num_passages"] for row in rows] == [1, 3, 5, 10]
    sentences = [sentence for row in rows for sentence in row["sentences"]]
    assert sentences
    assert {sentence["is_supported"] for sentence in sentences} <= {True, False}
