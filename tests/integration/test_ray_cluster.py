"""Real clusters: two nodes, and a submitted job with token authentication."""

import json
import os
import runpy
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from scp_ray.pipeline.ray_executor import cluster_shape, connect
from scp_ray.pipeline.report import RunReport
from scp_ray.storage.manifest import Manifest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
RAY = str(Path(sys.executable).with_name("ray"))


@pytest.fixture
def two_nodes() -> Iterator[Cluster]:
    """A cluster of two nodes with two CPUs each."""
    ray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="WARNING")
    connect()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.usefixtures("two_nodes")
def test_two_nodes_give_the_files_of_one_process(
    run: Callable[..., RunReport],
    manifest: Callable[..., Manifest],
    corpus: Path,
    tmp_path: Path,
) -> None:
    assert [node.num_cpus for node in cluster_shape().nodes] == [2, 2]
    job = runpy.run_path(str(ROOT / "jobs" / "index_corpus.py"))
    settings = ["embedding.model=hash://32", "index.num_shards=3", "chunking.overlap_tokens=15"]
    settings += ["chunking.chunk_size_tokens=60", "cluster.documents_per_batch=2"]
    argv = [f"--set={setting}" for setting in settings]
    assert job["main"](["index", str(corpus), str(tmp_path / "ray"), *argv]) == 0
    run(index="local")
    assert manifest("ray").shards == manifest("local").shards


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def token_cluster(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A started cluster that asks for a token; yields the environment of its users."""
    ray.shutdown()
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(32))
    names = ("port", "dashboard-port", "dashboard-agent-listen-port")
    ports = {name: str(_free_port()) for name in names}  # other clusters have the usual ones
    environment = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{ports['dashboard-port']}",
    }
    environment.pop("RAY_ADDRESS", None)
    command = [RAY, "start", "--head", "--block", "--num-cpus=2", "--node-ip-address=127.0.0.1"]
    command += [f"--{name}={port}" for name, port in ports.items()]
    command += ["--dashboard-host=127.0.0.1", "--disable-usage-stats"]
    head = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_until_open(int(ports["dashboard-port"]))
        yield environment
    finally:
        _end_processes_of(str(token))
        head.wait(timeout=60)
        trace = Path("/tmp/ray/ray_current_cluster")  # noqa: S108 - where `ray start` puts it
        if trace.exists() and trace.read_text().endswith(f":{ports['port']}"):
            trace.unlink()


def _end_processes_of(token: str) -> None:
    """End the processes that have this token, and so no other cluster of this machine."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = token.encode() in (process / "environ").read_bytes()
            if is_ours and int(process.name) != os.getpid():
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:  # it ended meanwhile, or is another user's
            continue


def _wait_until_open(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the cluster did not start within a minute")


def submitted(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Submit a job to a cluster that has just started: its agent comes later than its port."""
    for _ in range(60):
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=240, check=False
        )
        if "No available agent" not in done.stderr:
            break
        time.sleep(1)
    return done


def test_submitted_job_indexes_a_corpus(
    token_cluster: dict[str, str], corpus: Path, tmp_path: Path
) -> None:
    job = [sys.executable, str(ROOT / "jobs" / "index_corpus.py"), str(corpus)]
    job += [str(tmp_path / "index"), "--json", "--set", "embedding.model=hash://32"]
    submit = [RAY, "job", "submit", "--", *job]
    done = submitted(submit, token_cluster)
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = (tmp_path / "index" / "runs").glob("*/report.json")
    assert json.loads(report.read_text())["documents"]["published"] == 12
    without = {key: value for key, value in token_cluster.items() if "RAY_AUTH" not in key}
    refused = subprocess.run(
        submit, env=without, capture_output=True, text=True, timeout=120, check=False
    )
    assert refused.returncode != 0
    assert "token" in (refused.stdout + refused.stderr).lower()


def test_sigterm_to_the_command_leaves_a_run_that_goes_on(corpus: Path, tmp_path: Path) -> None:
    ray.shutdown()
    rows = [{"doc_id": f"row-{n}", "text": f"Row {n} of many. " * 400} for n in range(2000)]
    (corpus / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = [sys.executable, "-m", "scp_ray.cli", "index", str(corpus), str(tmp_path / "index")]
    command += ["--set", "embedding.model=hash://32", "--json"]
    command += ["--set", "cluster.documents_per_batch=20"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stderr=pipe, stdout=pipe, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("embedded"):
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stderr.read()
        assert process.wait(timeout=120) == 1
    assert "stopped by SIGTERM" in rest
    assert not (tmp_path / "index" / "CURRENT").exists()
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["chunks"]["adopted"] > 0
    assert report["documents"]["published"] == 2012
