"""Growth of what a megabyte costs."""

import pytest

from benchmarks.bench_long_document import summed_up


def run(megabytes: float, mib: float, cpu_s: float) -> dict[str, float]:
    return {"megabytes": megabytes, "mib_per_megabyte": mib, "cpu_s_per_megabyte": cpu_s}


def test_growth_is_told_against_the_largest_size_of_a_quarter() -> None:
    runs = [run(2, 40, 4.0), run(4, 20, 1.0), run(8, 25, 1.1), run(16, 30, 1.5)]
    figures = summed_up(runs)
    assert figures["reference_megabytes"] == 4
    assert figures["memory_growth"] == 1.5
    assert figures["cpu_growth"] == 1.5
    assert figures["largest"] == runs[-1]


@pytest.mark.parametrize("sizes", [[2], [2, 3]])
def test_sizes_too_near_are_told_against_the_smallest(sizes: list[int]) -> None:
    figures = summed_up([run(size, 10 * size, size) for size in sizes])
    assert figures["reference_megabytes"] == 2
    assert figures["memory_growth"] == sizes[-1] / 2
