"""Groups that sleep, fail, die or answer nonsense, in a real service: what the client gets."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import ray
from ray import serve

from benchmarks.serve_memory import replica_pids
from scp_ray.config import Settings
from scp_ray.pipeline.report import RunReport
from scp_ray.serve.group_calls import GroupCall
from scp_ray.serve.launch import deploy
from scp_ray.serve.replicas import GroupReplica

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

Run = Callable[..., RunReport]
MakeSettings = Callable[..., Settings]
QUESTION = "press the timer and wait for the lamp"
DEADLINE_MS = 1500
BUSY_MACHINE_S = 2.0  # the figure itself is measured by ``benchmarks/bench_faults.py``
NUM_SHARDS = 3


class TroubledReplica(GroupReplica):
    """A group that does what a file beside the index says, if its name is in it."""

    async def answer(self, calls: Sequence[GroupCall]) -> list[Any]:
        """Answer, or do not."""
        trouble, _, number = _trouble_file(self._served.index).read_text().partition(" ")
        if number != str(self._number):
            return await super().answer(calls)
        if trouble == "raise":
            message = "disk on fire"
            raise OSError(message)
        if trouble == "sleep":
            await asyncio.sleep(60)
        nonsense: dict[str, list[Any]] = {"none": [None] * len(calls), "short": []}
        return nonsense.get(trouble, ["?"] * len(calls))


def _trouble_file(index: str) -> Path:
    return Path(index).parent / "trouble"


class Service:
    """A running service of three groups, and its switch for trouble."""

    def __init__(self, address: str, index: Path) -> None:
        self.http = httpx.Client(base_url=address, timeout=30)
        self.index = index
        self.calm()

    def trouble(self, kind: str) -> None:
        _trouble_file(str(self.index)).write_text(f"{kind} 1")

    def calm(self) -> None:
        _trouble_file(str(self.index)).write_text("none none")

    def ask(self, **more: object) -> httpx.Response:
        body = {"query": QUESTION, "deadline_ms": DEADLINE_MS, "top_k": 20, **more}
        return self.http.post("/v1/query", json=body)

    def pid_of(self, deployment: str) -> int:
        (pid,) = replica_pids(os.getpid())[deployment]
        return pid

    def wait_until_whole(self) -> None:
        ends = time.monotonic() + 120
        while time.monotonic() < ends:
            reply = self.ask()
            if reply.status_code == 200 and not reply.json()["degraded"]:
                return
            time.sleep(0.2)
        message = f"still degraded: {reply.text[:500]}"
        raise TimeoutError(message)


@pytest.fixture
def service(
    request: pytest.FixtureRequest,
    run: Run,
    tmp_path: Path,
    small_settings: MakeSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Service]:
    request.getfixturevalue("ray_cluster")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
    monkeypatch.setattr("scp_ray.serve.app.GroupReplica", TroubledReplica)
    run(f"index.num_shards={NUM_SHARDS}")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (tmp_path / "trouble").write_text("none none")
    settings = small_settings(
        f"serve.num_groups={NUM_SHARDS}", f"serve.port={port}", "serve.cpus_per_replica=0.1"
    )
    service = Service(deploy(str(tmp_path / "index"), settings), tmp_path / "index")
    with service.http:
        yield service
    serve.shutdown()


def check_left_out(service: Service, reason: str) -> None:
    """Group 1 is missing, said so, and ``strict`` refuses."""
    sent = time.perf_counter()
    response = service.ask()
    took = time.perf_counter() - sent
    reply = response.json()
    assert response.status_code == 200, reply
    assert took < DEADLINE_MS / 1000 + BUSY_MACHINE_S
    assert [one["group"] for one in reply["degraded"]] == ["group-1"]
    assert reason in reply["degraded"][0]["reason"]
    assert reply["coverage"]["shards_ok"] == NUM_SHARDS - 1
    assert reply["results"]
    assert not reply["exhausted"]
    strict = service.ask(strict=True)
    assert strict.status_code == 503
    assert "group-1" in strict.json()["detail"]


def test_a_group_in_trouble_is_left_out_and_comes_back(service: Service) -> None:
    service.wait_until_whole()
    whole = service.ask().json()["results"]
    for kind, reason in (
        ("raise", "disk on fire"),
        ("sleep", "deadline passed"),
        ("none", "NoneType"),
        ("short", "questions got"),
        ("text", "str"),
    ):
        service.trouble(kind)
        check_left_out(service, reason)
        service.calm()
        service.wait_until_whole()
    stopped = service.pid_of("group-1")
    os.kill(stopped, signal.SIGSTOP)
    check_left_out(service, "deadline passed")
    os.kill(stopped, signal.SIGCONT)
    service.wait_until_whole()
    os.kill(service.pid_of("group-1"), signal.SIGKILL)
    check_left_out(service, "")
    service.wait_until_whole()
    assert service.ask().json()["results"] == whole


def test_a_front_that_dies_comes_back(service: Service) -> None:
    service.wait_until_whole()
    os.kill(service.pid_of("front"), signal.SIGKILL)
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        with contextlib.suppress(httpx.HTTPError):
            if service.ask().status_code == 200:
                break
        time.sleep(0.2)
    service.wait_until_whole()
    assert service.http.get("/readyz").status_code == 200


def test_a_coordinator_that_dies_costs_nothing(service: Service) -> None:
    service.wait_until_whole()
    os.kill(service.pid_of("coordinator"), signal.SIGKILL)
    ends = time.monotonic() + 10
    while time.monotonic() < ends:
        reply = service.ask()
        assert reply.status_code == 200
        assert not reply.json()["degraded"]
    assert service.http.get("/v1/index").json()["generation"] == 1


def test_a_thousand_clients_that_go_away_leave_nothing_behind(service: Service) -> None:
    service.wait_until_whole()
    service.trouble("sleep")
    address = (service.http.base_url.host, service.http.base_url.port)
    body = b'{"query": "press the timer", "deadline_ms": 30000}'
    head = (
        f"POST /v1/query HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    for _ in range(10):
        clients = [socket.create_connection(address) for _ in range(100)]
        for client in clients:
            client.sendall(head + body)
        time.sleep(0.3)
        for client in clients:
            client.close()
    service.calm()
    service.wait_until_whole()
    ends = time.monotonic() + 30
    while (in_flight := _gauge("ray_scp_ray_in_flight")) and time.monotonic() < ends:
        time.sleep(1)
    assert in_flight == 0


def _gauge(name: str) -> float:
    (node,) = [node for node in ray.nodes() if node["Alive"]]
    text = httpx.get(f"http://127.0.0.1:{node['MetricsExportPort']}/metrics", timeout=10).text
    values = [float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + "{")]
    return max(values, default=-1.0)
