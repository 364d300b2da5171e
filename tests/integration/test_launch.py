"""``scp-ray serve`` as a command: what refuses to start says so, and what stops is gone."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from scp_ray.cli import main
from scp_ray.pipeline.report import RunReport
from scp_ray.serve.launch import port_of_this_process

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

Run = Callable[..., RunReport]
HOLD = """
from scp_ray.serve.launch import port_of_this_process
with port_of_this_process(1):
    pass
"""
SERVES_OWN_PORTS = {8000, 30000}  # what Serve would open by itself
MOST_S_TO_STOP = 60  # of a busy machine; Serve's own draining would take half a minute more


def open_ports() -> set[int]:
    """TCP ports of this machine that somebody listens on."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return {int(one[1].rpartition(":")[2], 16) for one in fields if one[3] == "0A"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["{folder}/nowhere"], "no index here"),
        (["{folder}/index", "--host", "0.0.0.0"], "tokens_file"),  # noqa: S104 - refused
        (["{folder}/index", "--port", "{taken}"], "cannot listen"),
        (["{folder}/index", "--set", "serve.tokens_file={folder}"], "tokens"),
        (["{folder}/index", "--set", "serve.replicas_per_group=2"], "set serve.num_fronts instead"),
    ],
)
def test_a_wrong_start_is_told_in_a_line_before_anything_starts(
    run: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    reason: str,
) -> None:
    run()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        values = {"folder": tmp_path, "taken": taken.getsockname()[1]}
        status = main(["serve", *(one.format(**values) for one in arguments)])
    assert status == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert reason in told[0]


def test_one_service_has_a_port() -> None:
    with port_of_this_process(1):
        held = subprocess.run(
            [sys.executable, "-c", HOLD],
            capture_output=True,
            text=True,
            check=False,
        )
    assert held.returncode == 1
    assert "another service of this machine has port 1" in held.stderr
    with port_of_this_process(1):
        pass


class Asked(NamedTuple):
    """A request and what came of it; ``status`` is 0 where the connection was refused or cut."""

    began: float
    status: int
    retry_after: str | None = None
    text: str = ""


class Load:
    """Clients that ask at once until they are told to stop, some over connections that stay."""

    def __init__(self, address: str) -> None:
        self.questions: list[Asked] = []
        self.probes: list[Asked] = []
        self._address = address
        self._ends = threading.Event()
        body = {"query": "lamp", "strict": True, "deadline_ms": 60_000, "top_k": 20}
        asking = [("POST", "/v1/query", body, self.questions, stays) for stays in [True, False] * 4]
        probing = [("GET", "/readyz", None, self.probes, False)] * 3
        self._threads = [threading.Thread(target=self._ask, args=one) for one in asking + probing]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, method: str, path: str, body: Any, told: list[Asked], stays: bool) -> None:
        limits = httpx.Limits(max_keepalive_connections=int(stays))
        with httpx.Client(base_url=self._address, limits=limits, timeout=60) as client:
            while not self._ends.wait(0.02):
                began = time.monotonic()
                try:
                    answer = client.request(method, path, json=body)
                except httpx.TransportError:
                    told.append(Asked(began, 0))
                else:
                    retry_after = answer.headers.get("retry-after")
                    told.append(Asked(began, answer.status_code, retry_after, answer.text))


@pytest.mark.parametrize("http_server", ["front", "proxy"])
def test_a_stopped_service_answers_what_it_has_taken_and_is_gone(
    run: Run, tmp_path: Path, http_server: str, record_property: Callable[[str, object], None]
) -> None:
    run()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    before = open_ports() & SERVES_OWN_PORTS
    command = [sys.executable, "-m", "scp_ray.cli", "serve", str(tmp_path / "index")]
    command += ["--port", str(port), "--set", "embedding.model=hash://32"]
    for setting in ("num_groups=2", "cpus_per_replica=0.2", f"http_server={http_server}"):
        command += ["--set", f"serve.{setting}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        ready = next((line for line in process.stderr if line.startswith("ready")), "")
        assert f"http://127.0.0.1:{port}" in ready
        assert open_ports() & SERVES_OWN_PORTS == before
        with Load(f"http://127.0.0.1:{port}") as load:
            while sum(one.status == 200 for one in load.questions) < 50:
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            _, told = process.communicate(timeout=MOST_S_TO_STOP)
            took_s = time.monotonic() - began
    record_property("stopped in", f"{took_s:.1f} s, {len(load.questions)} questions")
    assert process.returncode == 0, told
    assert "Traceback" not in told
    check_questions_of_a_stop(load, began)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def check_questions_of_a_stop(load: Load, stopped_at: float) -> None:
    """Every question is answered until probes say to go elsewhere, and those taken always are."""
    unready_at = min(one.began for one in load.probes if one.status == 503)
    assert unready_at > stopped_at
    lost = [one for one in load.questions if one.status != 200]
    assert {one.status for one in lost} <= {503, 0}
    assert [one for one in lost if one.began < unready_at] == []
    refused = [one for one in lost if one.status == 503]
    assert {one.retry_after for one in refused} == {"1"}
    assert [one for one in refused if "the service is stopping" not in one.text] == []
    first_refused = min(one.began for one in refused)
    assert [one for one in lost if one.status == 0 and one.began < first_refused] == []
    last_answered = max(one.began for one in load.questions if one.status == 200)
    assert last_answered > unready_at + 1.0
