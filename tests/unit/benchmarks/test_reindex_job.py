"""Time and bytes of a run against the full build."""

import pytest

from benchmarks.reindex_job import against_full


def test_start_up_is_left_out_of_both() -> None:
    full = {"seconds": 210.0, "written_bytes": {"all": 1000}}
    run = {"seconds": 14.0, "written_bytes": {"all": 700}}
    assert against_full(run, full, startup_s=10.0) == {
        "ratio": pytest.approx(4 / 200),
        "ratio_with_startup": pytest.approx(14 / 210),
        "bytes_ratio": pytest.approx(0.7),
    }
