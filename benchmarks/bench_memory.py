"""Index few and many documents on Ray: does memory grow with the corpus?

Each run has a driver and a cluster of its own. Two corpora with shards of one size, the same two
with one number of shards, and one corpus that is larger than Ray's object store. Writes
``results/bench_memory.json``.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say
from benchmarks.memory_job import MemoryCase, measure_memory, memory_settings, write_documents

_BYTES_PER_MB = 1_000_000
_BYTES_PER_KB = 1000
_BYTES_PER_MIB = 2**20
_SHARD_DOCUMENTS = 500
_FIXED_SHARDS = 4
_GROWING = ("driver", "largest_worker", "driver_and_workers", "resident")


def main() -> None:
    """Measure every case and write the figures."""
    args = _arguments()
    document_bytes = int(args.document_kb * _BYTES_PER_KB)
    with tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), 1, document_bytes)
        environment = capture(memory_settings(1), Path(folder))
    environment["data"]["name"] = "made/manuals"
    figures: dict[str, Any] = {
        "one_shard_size": compared(
            [
                _measured(MemoryCase(count, _shards(count)), document_bytes)
                for count in args.documents
            ]
        ),
        "one_number_of_shards": compared(
            [
                _measured(MemoryCase(count, _FIXED_SHARDS), document_bytes)
                for count in args.documents
            ]
        ),
    }
    count = int(args.limited_mb * _BYTES_PER_MB / document_bytes)
    limited = MemoryCase(count, _shards(count), args.object_store_mb)
    figures["larger_than_object_store"] = _measured(limited, document_bytes)
    tree = memory_settings(1).model_dump(
        mode="json", include={"chunking": True, "chop": True, "embedding": True}
    )
    tree["document_bytes"] = document_bytes
    path = Result(environment, tree, figures).write("bench_memory")
    say(f"written: {path.name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--documents", type=int, nargs=2, default=[500, 5000], help="sizes of the two corpora"
    )
    parser.add_argument("--document-kb", type=float, default=8.0, help="size of a document")
    parser.add_argument(
        "--object-store-mb", type=int, default=200, help="object store of the last run"
    )
    parser.add_argument("--limited-mb", type=float, default=240.0, help="its corpus")
    return parser.parse_args()


def _shards(num_documents: int) -> int:
    return max(1, num_documents // _SHARD_DOCUMENTS)


def _measured(case: MemoryCase, document_bytes: int) -> dict[str, Any]:
    run = measure_memory(case, document_bytes)
    say(", ".join(f"{name} {value}" for name, value in run.items()))
    return run


def compared(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return two runs with the growth from the small corpus to the large one.

    Args:
        runs: As ``measure_memory`` gives them, the small corpus first.

    Returns:
        The runs as ``small`` and ``large``; the ratio of each peak; and of each what one more
        document takes, in bytes, and the rest, in MiB.
    """
    small, large = runs
    figures: dict[str, Any] = {"small": small, "large": large}
    for name in _GROWING:
        few, many = small[f"{name}_mib"], large[f"{name}_mib"]
        per_document = (many - few) / (large["documents"] - small["documents"])
        figures[f"{name}_ratio"] = rounded(many / few)
        figures[f"{name}_bytes_per_document"] = rounded(per_document * _BYTES_PER_MIB)
        figures[f"{name}_base_mib"] = rounded(few - per_document * small["documents"])
    say(", ".join(f"{name} {figures[f'{name}_ratio']}" for name in _GROWING))
    return figures


if __name__ == "__main__":
    main()
