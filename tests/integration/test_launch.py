"""``scp-ray serve`` as a command: what refuses to start says so, and what stops is gone."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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


def test_a_stopped_service_answers_until_the_end_and_is_gone(run: Run, tmp_path: Path) -> None:
    run()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    before = open_ports() & SERVES_OWN_PORTS
    command = [sys.executable, "-m", "scp_ray.cli", "serve", str(tmp_path / "index")]
    with subprocess.Popen(
        [*command, "--port", str(port), "--set", "embedding.model=hash://32"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        ready = next((line for line in process.stderr if line.startswith("ready")), "")
        assert f"http://127.0.0.1:{port}" in ready
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            assert client.post("/v1/query", json={"query": "lamp"}).status_code == 200
        assert open_ports() & SERVES_OWN_PORTS == before
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        _, told = process.communicate(timeout=MOST_S_TO_STOP)
    assert process.returncode == 0, told
    assert "Traceback" not in told
    assert time.monotonic() - began < MOST_S_TO_STOP
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
