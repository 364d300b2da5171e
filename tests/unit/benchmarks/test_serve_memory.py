"""Which processes are a service's replicas, and how much memory they have."""

from pathlib import Path

import pytest

from benchmarks.serve_memory import replica_memory, replica_pids

MIB = 1024


def add_process(proc: Path, pid: int, parent: int, title: str, mib: int = 0) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} (a name) with (brackets)) S {parent} {pid} 0\n")
    (folder / "cmdline").write_bytes(title.encode() + b"\0")
    lines = ["00-ff ---p 00000000 00:00 0 [rollup]"]
    sizes = {"Rss": 2 * mib, "Pss": mib, "Pss_Anon": 0, "Anonymous": mib // 2}
    lines += [f"{name}:   {size * MIB} kB" for name, size in sizes.items()]
    (folder / "smaps_rollup").write_text("\n".join(lines) + "\n")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A service with two replicas of a front, one of a group, and a service of somebody else."""
    add_process(tmp_path, 10, 1, "python -m benchmarks.serve_service")
    add_process(tmp_path, 11, 10, "raylet", 500)
    add_process(tmp_path, 12, 11, "ray::ServeReplica:scp-ray:front", 100)
    add_process(tmp_path, 13, 11, "ray::ServeReplica:scp-ray:front.handle_request", 200)
    add_process(tmp_path, 14, 11, "ray::ServeReplica:scp-ray:group-0", 30)
    add_process(tmp_path, 15, 11, "ray::ServeController.listen", 70)
    add_process(tmp_path, 20, 1, "ray::ServeReplica:scp-ray:front", 900)
    return tmp_path


def test_replicas_are_found_by_deployment_below_the_service_alone(proc: Path) -> None:
    found = {name: sorted(pids) for name, pids in replica_pids(10, proc).items()}
    assert found == {"front": [12, 13], "group-0": [14]}


def test_memory_is_summed_over_the_replicas_of_a_deployment(proc: Path) -> None:
    assert replica_memory(10, proc) == {
        "front": {"pss_mib": 300, "rss_mib": 600, "anonymous_mib": 150},
        "group-0": {"pss_mib": 30, "rss_mib": 60, "anonymous_mib": 15},
    }


@pytest.mark.parametrize("name", ["smaps_rollup", "stat", "cmdline"])
def test_process_that_has_ended_counts_nowhere(proc: Path, name: str) -> None:
    (proc / "13" / name).unlink()
    assert replica_memory(10, proc)["front"]["pss_mib"] == 100
