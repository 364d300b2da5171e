"""Growth of memory from a small corpus to a large one."""

import pytest

from benchmarks.bench_memory import compared


def run(documents: int, driver: float, worker: float) -> dict[str, float]:
    return {
        "documents": documents,
        "driver_mib": driver,
        "largest_worker_mib": worker,
        "driver_and_workers_mib": driver + 2 * worker,
        "resident_mib": driver + 3 * worker,
    }


def test_growth_is_told_as_ratio_and_as_base_and_slope() -> None:
    small, large = run(500, 101, 200), run(5000, 110, 200)
    figures = compared([small, large])
    assert (figures["small"], figures["large"]) == (small, large)
    assert figures["driver_ratio"] == pytest.approx(110 / 101, rel=1e-3)
    assert figures["driver_bytes_per_document"] == pytest.approx(9 * 2**20 / 4500, rel=1e-3)
    assert figures["driver_base_mib"] == 100
    assert figures["largest_worker_ratio"] == 1
    assert figures["largest_worker_bytes_per_document"] == 0
    assert figures["driver_and_workers_ratio"] == pytest.approx(510 / 501, rel=1e-3)
