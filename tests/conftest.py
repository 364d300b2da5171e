"""Fixtures that every test may use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "project", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")


@pytest.fixture(autouse=True)
def _no_model_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never ask a model hub, and no settings leak in from the developer's shell."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def _ray_ends_with_the_session() -> Iterator[None]:
    yield
    import ray

    ray.shutdown()


@pytest.fixture
def ray_cluster(_ray_ends_with_the_session: None) -> None:
    """A Ray cluster of two CPUs in this machine; started again where a test has ended it."""
    import ray

    from scp_ray.pipeline.ray_executor import connect

    if not ray.is_initialized():
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
        ray.init("local", num_cpus=2, **quiet)
    connect()


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    """An empty folder for a corpus."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    return folder
