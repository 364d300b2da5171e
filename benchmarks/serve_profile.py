"""Where the front of the service spends its time under load, by py-spy."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.figures import say
from benchmarks.serve_bench import Bench
from benchmarks.serve_memory import replica_pids
from benchmarks.serve_service import service

_CLIENTS = 8
_SHOWN = 25
_PY_SPY = str(Path(sys.executable).with_name("py-spy"))


def profile_front(bench: Bench, output: Path) -> None:
    """Sample the front's stacks under load and show where the samples are.

    Args:
        bench: Gives the length of the load.
        output: Where the stacks go, one a line, as flame graph tools take them.
    """
    with service(bench.corpus.index, bench.serve_settings(num_groups=1)) as served:
        (front,) = replica_pids(served.pid)["front"]
        bench.load("warm-up", served.port, _CLIENTS)
        command = [
            _PY_SPY,
            "record",
            "--format",
            "raw",
            "--output",
            str(output),
            "--pid",
            str(front),
        ]
        options = ["--duration", str(round(bench.duration_s)), "--rate", "200", "--function"]
        failures: list[str] = []

        def record() -> None:
            done = subprocess.run(  # noqa: S603 - arguments are this file's own
                [*command, *options], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                failures.append(done.stderr)

        thread = threading.Thread(target=record)
        thread.start()
        bench.load("profiled", served.port, _CLIENTS)
        thread.join()
        if failures:
            message = f"py-spy failed: {failures[0][-2000:]}"
            raise RuntimeError(message)
        lines = output.read_text(encoding="utf-8").splitlines()
    own, total = sampled(lines)
    all_samples = sum(own.values())
    for title, counts in (("in it and below", total), ("in it alone", own)):
        say(f"\nshare of {all_samples} samples {title}")
        for frame, count in counts.most_common(_SHOWN):
            say(f"{100 * count / all_samples:6.1f} %  {frame}")


def sampled(lines: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """Count samples of collapsed stacks: of each frame alone, and with all that it called.

    Args:
        lines: ``outermost;...;innermost count``.
    """
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for frames, count in _parsed(lines):
        own[frames[-1]] += count
        total.update(dict.fromkeys(frames, count))
    return own, total


def _parsed(lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    for line in lines:
        stack, _, count = line.rpartition(" ")
        if stack and count.isdigit():
            yield stack.split(";"), int(count)
