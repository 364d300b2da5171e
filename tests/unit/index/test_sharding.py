"""The shard of a document never changes."""

import subprocess
import sys

import pytest

from scp_ray.index.sharding import shard_of


@pytest.mark.parametrize(
    ("doc_id", "in_4", "in_7", "in_100_000"),
    [
        ("manuals/pump_225b.md", 0, 2, 49080),
        ("größe.txt", 0, 0, 97924),
        ("文件.pdf", 0, 3, 25800),
        ("a", 2, 4, 62250),
        ("", 0, 1, 61652),
    ],
)
def test_published_indexes_rely_on_these_values(
    doc_id: str, in_4: int, in_7: int, in_100_000: int
) -> None:
    assert [shard_of(doc_id, n) for n in (1, 4, 7, 100_000)] == [0, in_4, in_7, in_100_000]


def test_another_process_agrees() -> None:
    code = "from scp_ray.index.sharding import shard_of; print(shard_of('文件.pdf', 100_000))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    assert done.stdout.split() == [b"25800"]


def test_documents_spread_evenly() -> None:
    counts = [0] * 8
    for number in range(8000):
        counts[shard_of(f"doc-{number}", 8)] += 1
    assert min(counts) > 900


def test_no_shards_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        shard_of("a", 0)
