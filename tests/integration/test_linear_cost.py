"""A document of megabytes through the whole path: memory and time in proportion to its length.

What is made for each pair of chunks, or of the whole text for each chunk, would show: the longer
document has four times as many chunks.
"""

from pathlib import Path

import pytest

from benchmarks.long_document import long_document_settings, measure_long_document

pytestmark = pytest.mark.integration


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the memory of the process from /proc"
)
def test_a_megabyte_of_a_longer_document_costs_no_more() -> None:
    short, long = (measure_long_document(size, long_document_settings()) for size in (4, 16))
    assert long["num_chunks"] > 3.9 * short["num_chunks"] > 12_000
    # What a run needs at any size counts a quarter as much in the longer one, which leaves room for
    # an allocator's moods; a float32 for each pair of chunks in one stage would add 12 MiB a
    # megabyte to the shorter and 47 to the longer.
    assert long["mib_per_megabyte"] <= short["mib_per_megabyte"]
    assert long["cpu_s_per_megabyte"] <= 1.5 * short["cpu_s_per_megabyte"]
