"""Memory of processes, as the benchmark of flat memory samples it."""

import os
from pathlib import Path

import pytest

from benchmarks.process_memory import (
    MemorySampler,
    Peaks,
    ProcessMemory,
    Role,
    folder_bytes,
    memory_below,
)

KIB = 1024


def add_process(proc: Path, pid: int, parent: int, title: str, kib: tuple[int, int, int]) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} (a name) with (brackets)) S {parent} {pid} 0\n")
    (folder / "cmdline").write_bytes(title.encode() + b"\0")
    lines = ["00-ff ---p 00000000 00:00 0 [rollup]", "Rss: 9999 kB", f"Pss: {sum(kib)} kB"]
    names = ("Pss_Anon", "Pss_File", "Pss_Shmem")
    lines += [f"{name}: {size} kB" for name, size in zip(names, kib, strict=True)]
    (folder / "smaps_rollup").write_text("\n".join(lines) + "\n")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A driver, its raylet with two workers and an agent, and a process of somebody else."""
    add_process(tmp_path, 10, 1, "python job.py", (90, 5, 10))
    add_process(tmp_path, 11, 10, "raylet --port", (10, 4, 40))
    add_process(tmp_path, 12, 11, "ray::MapWorker", (180, 3, 20))
    add_process(tmp_path, 13, 11, "ray::IDLE", (30, 2, 0))
    add_process(tmp_path, 14, 11, "ray::DashboardAgent", (60, 1, 0))
    add_process(tmp_path, 20, 1, "ray::MapWorker", (999, 9, 0))
    return tmp_path


def test_what_descends_from_the_driver_counts_with_its_role(proc: Path) -> None:
    found = sorted(memory_below(10, proc), key=lambda process: process.heap_bytes)
    assert found == [
        ProcessMemory(Role.RAY, 10 * KIB, 4 * KIB, 40 * KIB),
        ProcessMemory(Role.WORKER, 30 * KIB, 2 * KIB, 0),
        ProcessMemory(Role.RAY, 60 * KIB, 1 * KIB, 0),
        ProcessMemory(Role.DRIVER, 90 * KIB, 5 * KIB, 10 * KIB),
        ProcessMemory(Role.WORKER, 180 * KIB, 3 * KIB, 20 * KIB),
    ]


@pytest.mark.parametrize("name", ["smaps_rollup", "stat"])
def test_process_that_has_ended_counts_nowhere(proc: Path, name: str) -> None:
    (proc / "12" / name).unlink()
    assert sum(process.role is Role.WORKER for process in memory_below(10, proc)) == 1


def test_each_peak_is_that_of_its_own_moment() -> None:
    peaks = Peaks()
    peaks.add([ProcessMemory(Role.DRIVER, 100, 1, 0), ProcessMemory(Role.WORKER, 300, 9, 5)], 7)
    peaks.add([ProcessMemory(Role.WORKER, 200, 1, 1), ProcessMemory(Role.WORKER, 150, 80, 1)], 0)
    peaks.add([ProcessMemory(Role.DRIVER, 120, 0, 0), ProcessMemory(Role.RAY, 1000, 9, 6)], 2)
    assert peaks.heap_bytes == {Role.DRIVER: 120, Role.WORKER: 350, Role.RAY: 1000}
    assert peaks.largest_heap_bytes == {Role.DRIVER: 120, Role.WORKER: 300, Role.RAY: 1000}
    assert peaks.num_processes == {Role.DRIVER: 1, Role.WORKER: 2, Role.RAY: 1}
    assert (peaks.together_heap_bytes, peaks.together_resident_bytes) == (400, 431)
    assert (peaks.object_store_bytes, peaks.spilled_bytes) == (6, 7)


def test_files_below_a_folder_are_summed(tmp_path: Path) -> None:
    (tmp_path / "spilled" / "deep").mkdir(parents=True)
    (tmp_path / "spilled" / "one").write_bytes(b"123")
    (tmp_path / "spilled" / "deep" / "two").write_bytes(b"12345")
    assert folder_bytes(tmp_path) == 8
    assert folder_bytes(tmp_path / "nowhere") == 0


def test_sampler_sees_memory_that_this_process_takes_for_a_while(tmp_path: Path) -> None:
    with MemorySampler(os.getpid(), tmp_path) as sampler:
        while not sampler.peaks.num_processes:
            pass
        before = sampler.peaks.heap_bytes[Role.DRIVER]
        taken = bytearray(64 * KIB * KIB)
        taken[::4096] = b"1" * len(taken[::4096])
        while sampler.peaks.heap_bytes[Role.DRIVER] < before + len(taken) // 2:
            pass
    assert sampler.peaks.heap_bytes[Role.DRIVER] >= before + len(taken) // 2
