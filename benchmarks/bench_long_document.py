"""Index one long document of several sizes: are memory and time linear in its length?

Each size has a process of its own, which reads, chunks, annotates, embeds (with the encoder for
tests), stages and builds. Writes ``results/bench_long_document.json``.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say
from benchmarks.long_document import (
    long_document_settings,
    measure_long_document,
    write_long_document,
)

_REFERENCE_SHARE = 0.25  # of the largest size; what growth is told against


def main() -> None:
    """Measure every size and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--megabytes",
        type=float,
        nargs="+",
        default=[25.0, 50.0, 100.0, 200.0],
        help="sizes; growth is told of the largest against the largest of at most a quarter of it",
    )
    megabytes = sorted(parser.parse_args().megabytes)
    settings = long_document_settings()
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder, "long.md")
        write_long_document(document, megabytes[0])
        environment = capture(settings, document)
    environment["data"]["name"] = "made/long.md"
    runs = []
    for size in megabytes:
        runs.append(measure_long_document(size, settings))
        say(", ".join(f"{name} {value}" for name, value in runs[-1].items()))
    tree = settings.model_dump(mode="json", include={"chunking", "chop", "embedding", "index"})
    path = Result(environment, tree, summed_up(runs)).write("bench_long_document")
    say(f"written: {path.name}")


def summed_up(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the runs with the growth of what a megabyte costs, from a quarter to the whole.

    Args:
        runs: As ``measure_long_document`` gives them, ascending by size.
    """
    largest = runs[-1]
    limit = _REFERENCE_SHARE * largest["megabytes"]
    reference = [run for run in runs if run["megabytes"] <= limit][-1:] or runs[:1]
    return {
        "runs": list(runs),
        "largest": largest,
        "reference_megabytes": reference[0]["megabytes"],
        **{
            f"{name}_growth": rounded(largest[column] / reference[0][column])
            for name, column in (("memory", "mib_per_megabyte"), ("cpu", "cpu_s_per_megabyte"))
        },
    }


if __name__ == "__main__":
    main()
