"""The files of the Ray cluster launcher."""

from collections import Counter
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import yaml
from botocore.validate import ParamValidator
from ray.autoscaler._private.util import prepare_config, validate_config

from scp_ray.config import load_settings
from scp_ray.pipeline.pools import EMBED_POOL, size_pools
from scp_ray.pipeline.ray_executor import declared_shape

ROOT = Path(__file__).parents[2]
CLOUD, ON_PREMISE = ROOT / "cluster.yaml", ROOT / "deploy" / "on-premise.yaml"


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text())


@pytest.fixture
def node_types() -> dict[str, dict[str, Any]]:
    return read(CLOUD)["available_node_types"]


@pytest.fixture
def workers(node_types: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: node_type for name, node_type in node_types.items() if name != "head"}


@pytest.mark.parametrize("path", [CLOUD, ON_PREMISE], ids=["cloud", "on_premise"])
def test_ray_takes_the_file(path: Path) -> None:
    prepared = prepare_config(read(path))
    validate_config(prepared)
    assert "pip install" not in str(prepared)  # nothing of the launcher's defaults is left


def test_ray_refuses_a_key_that_it_does_not_know() -> None:
    broken = read(CLOUD) | {"max_wrokers": 3}
    with pytest.raises(Exception, match="max_wrokers"):
        validate_config(prepare_config(broken))


def test_ec2_takes_every_machine(node_types: dict[str, dict[str, Any]]) -> None:
    service = botocore.session.Session().get_service_model("ec2")
    shape = service.operation_model("RunInstances").input_shape
    for name, node_type in node_types.items():
        request = {"MinCount": 1, "MaxCount": 1, **node_type["node_config"]}
        assert not ParamValidator().validate(request, shape).has_errors(), name


def test_head_has_no_logical_cpu(node_types: dict[str, dict[str, Any]]) -> None:
    config = read(CLOUD)
    assert node_types[config["head_node_type"]]["resources"] == {"CPU": 0}
    assert any("--num-cpus=0" in command for command in config["head_start_ray_commands"])


def test_workers_scale_from_zero_within_the_bound(workers: dict[str, dict[str, Any]]) -> None:
    assert {worker["min_workers"] for worker in workers.values()} == {0}
    assert sum(worker["max_workers"] for worker in workers.values()) == read(CLOUD)["max_workers"]


@pytest.mark.parametrize("pool", ["cpu", "gpu"])
def test_spot_comes_before_a_fallback_of_the_same_shape(
    workers: dict[str, dict[str, Any]], pool: str
) -> None:
    spot, fallback = workers[f"{pool}-spot"], workers[f"{pool}-on-demand"]
    market = spot["node_config"].pop("InstanceMarketOptions")
    assert market == {"MarketType": "spot"}
    assert spot["priority"] > fallback["priority"]
    for key in ("resources", "node_config", "docker"):
        assert spot.get(key) == fallback.get(key)


def test_every_process_asks_for_a_token_that_every_node_gets() -> None:
    config = read(CLOUD)
    options = config["docker"]["run_options"]
    place = "/home/ray/.ray/auth_token"
    assert {"--env=RAY_AUTH_MODE=token", f"--env=RAY_AUTH_TOKEN_PATH={place}"} <= set(options)
    assert place in config["file_mounts"]
    assert any("--dashboard-host=127.0.0.1" in line for line in config["head_start_ray_commands"])


def test_machines_of_ones_own_start_with_a_token_too() -> None:
    config = read(ON_PREMISE)
    for kind in ("head", "worker"):
        (start,) = (line for line in config[f"{kind}_start_ray_commands"] if " start" in line)
        assert "RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=~/.ray/auth_token" in start
    assert "~/.ray/auth_token" in config["file_mounts"]


def test_a_role_and_no_key_opens_the_bucket(node_types: dict[str, dict[str, Any]]) -> None:
    for node_type in node_types.values():
        assert node_type["node_config"]["IamInstanceProfile"]["Arn"].startswith("arn:aws:iam::")
    for path in (CLOUD, ON_PREMISE):
        assert "ACCESS_KEY" not in path.read_text()


@pytest.mark.parametrize(
    ("setting", "num_encoders"),
    [
        ("cluster.nodes=[{num_cpus: 8, count: 8}]", 16),  # two a node
        ("cluster.nodes=[{num_cpus: 8, count: 8}, {num_cpus: 2, num_gpus: 1, count: 4}]", 4),
    ],
)
def test_pools_that_the_guide_declares_are_those_of_the_file(
    workers: dict[str, dict[str, Any]], setting: str, num_encoders: int
) -> None:
    assert setting in (ROOT / "docs" / "operations.md").read_text()
    settings = load_settings(assignments=[setting])
    available = Counter[tuple[int, int]]()
    for worker in workers.values():
        shape = worker["resources"]["CPU"], worker["resources"].get("GPU", 0)
        available[shape] += worker["max_workers"]
    for node in settings.cluster.nodes:
        assert available[int(node.num_cpus), int(node.num_gpus)] == node.count
    shape = declared_shape(settings)
    assert shape is not None
    assert size_pools(settings, shape)[EMBED_POOL].size == num_encoders
