"""Memory of a process and all below it, sampled from ``/proc`` (Linux) while they work."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

PROC = Path("/proc")
_INTERVAL_S = 0.25
_KIB = 1024
_KINDS = ("Anon", "File", "Shmem")
_WORKER_TITLE = "ray::"
_INFRASTRUCTURE_TITLES = ("Agent", "Dashboard")  # of Ray's own processes that are titled so too


class Role(StrEnum):
    """What a process is to a run."""

    DRIVER = "driver"
    WORKER = "worker"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Memory of one process at one moment; pages that several share count in equal parts.

    Attributes:
        role: What it is.
        heap_bytes: What it has taken for itself.
        file_bytes: Its part of resident files, most of them libraries: the more processes of the
            machine use them, whoever's, the smaller.
        object_store_bytes: Its part of the resident object store.
    """

    role: Role
    heap_bytes: int
    file_bytes: int
    object_store_bytes: int


@dataclass
class Peaks:
    """The most that was seen, each at its own moment.

    Attributes:
        heap_bytes: Of all processes of a role together.
        largest_heap_bytes: Of the largest process of a role.
        num_processes: Processes of a role.
        together_heap_bytes: Of driver and workers together.
        together_resident_bytes: The same with files.
        object_store_bytes: Of the object store, as far as it is resident.
        spilled_bytes: Of the files in the folder that objects are spilled to.
    """

    heap_bytes: Counter[Role] = field(default_factory=Counter)
    largest_heap_bytes: Counter[Role] = field(default_factory=Counter)
    num_processes: Counter[Role] = field(default_factory=Counter)
    together_heap_bytes: int = 0
    together_resident_bytes: int = 0
    object_store_bytes: int = 0
    spilled_bytes: int = 0

    def add(self, processes: list[ProcessMemory], spilled_bytes: int) -> None:
        """Take in one moment."""
        for role in {process.role for process in processes}:
            heaps = [process.heap_bytes for process in processes if process.role is role]
            self.heap_bytes[role] = max(self.heap_bytes[role], sum(heaps))
            self.largest_heap_bytes[role] = max(self.largest_heap_bytes[role], *heaps)
            self.num_processes[role] = max(self.num_processes[role], len(heaps))
        together = [process for process in processes if process.role is not Role.RAY]
        heap = sum(process.heap_bytes for process in together)
        resident = heap + sum(process.file_bytes for process in together)
        in_store = sum(process.object_store_bytes for process in processes)
        self.together_heap_bytes = max(self.together_heap_bytes, heap)
        self.together_resident_bytes = max(self.together_resident_bytes, resident)
        self.object_store_bytes = max(self.object_store_bytes, in_store)
        self.spilled_bytes = max(self.spilled_bytes, spilled_bytes)


class MemorySampler:
    """Samples a process and all below it in a thread, for as long as the block lasts.

    Args:
        driver: The process.
        spill: Folder that objects are spilled to.

    Attributes:
        peaks: What it has seen so far.
    """

    def __init__(self, driver: int, spill: Path) -> None:
        self.peaks = Peaks()
        self._driver = driver
        self._spill = spill
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "MemorySampler":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(_INTERVAL_S):
            self.peaks.add(list(memory_below(self._driver)), folder_bytes(self._spill))


def memory_below(driver: int, proc: Path = PROC) -> Iterator[ProcessMemory]:
    """Yield the memory of ``driver`` and of the processes that descend from it."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for status in proc.glob("[0-9]*/stat"):
        try:
            after_name = status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        except OSError:  # it has ended
            continue
        children[int(after_name.split()[1])].append(int(status.parent.name))
    waiting = [driver]
    while waiting:
        pid = waiting.pop()
        waiting += children[pid]
        role = Role.DRIVER if pid == driver else _role(proc / str(pid))
        sizes = _resident_bytes(proc / str(pid))
        if sizes:
            yield ProcessMemory(role, *(sizes[f"Pss_{kind}"] for kind in _KINDS))


def _role(process: Path) -> Role:
    try:
        title = (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return Role.RAY
    is_worker = title.startswith(_WORKER_TITLE)
    is_ours = not any(word in title for word in _INFRASTRUCTURE_TITLES)
    return Role.WORKER if is_worker and is_ours else Role.RAY


def _resident_bytes(process: Path) -> dict[str, int]:
    """Return the proportional sizes by name; nothing of a process that has ended."""
    try:
        lines = (process / "smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.startswith("Pss"))
    return {name.rstrip(":"): int(size) * _KIB for name, size, _unit in fields}


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below a folder; a file that vanishes meanwhile counts as 0."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
