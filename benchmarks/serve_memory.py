"""Memory of the replicas of a service, from ``/proc`` (Linux)."""

import re
from collections import defaultdict
from pathlib import Path

from benchmarks.figures import rounded
from benchmarks.process_memory import PROC

_TITLE = "ray::ServeReplica:"
_ENDS_NAME = re.compile(r"[^\w-]")  # a method may follow, and does while it runs
_MIB_KIB = 1024


def replica_pids(service: int, proc: Path = PROC) -> dict[str, list[int]]:
    """Return the processes of the replicas below a process, by the name of their deployment."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for pid in _below(service, proc):
        try:
            title = (proc / str(pid) / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it has ended
            continue
        if title.startswith(_TITLE):
            name = title.removeprefix(_TITLE).split(":")[1]  # after the application's
            found[_ENDS_NAME.split(name)[0]].append(pid)
    return dict(found)


def replica_memory(service: int, proc: Path = PROC) -> dict[str, dict[str, float]]:
    """Return the memory of each deployment's replicas, in MiB.

    ``pss_mib`` counts pages that several processes share in equal parts, ``rss_mib`` in whole.
    ``anonymous_mib`` is what they have taken for themselves: the files of an index are not in it.
    """
    memory: dict[str, dict[str, float]] = {}
    for name, pids in replica_pids(service, proc).items():
        sizes = [_sizes_kib(proc / str(pid)) for pid in pids]
        memory[name] = {
            f"{key.lower()}_mib": rounded(sum(size.get(key, 0) for size in sizes) / _MIB_KIB)
            for key in ("Pss", "Rss", "Anonymous")
        }
    return memory


def _below(ancestor: int, proc: Path) -> list[int]:
    children: defaultdict[int, list[int]] = defaultdict(list)
    for status in proc.glob("[0-9]*/stat"):
        try:
            after_name = status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        except OSError:
            continue
        children[int(after_name.split()[1])].append(int(status.parent.name))
    below, waiting = [], [ancestor]
    while waiting:
        pid = waiting.pop()
        below.append(pid)
        waiting += children[pid]
    return below


def _sizes_kib(process: Path) -> dict[str, int]:
    try:
        lines = (process / "smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    fields = [line.split() for line in lines if line.endswith("kB")]
    return {name.rstrip(":"): int(size) for name, size, _unit in fields}
