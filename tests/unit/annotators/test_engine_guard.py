"""Processes that the guard knows end with the process that holds it, and only then."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from scp_ray.annotators.engine_guard import EngineGuard

OWNER = textwrap.dedent(
    """
    import multiprocessing, os, sys, time
    from scp_ray.annotators.engine_guard import EngineGuard

    if __name__ == "__main__":
        with EngineGuard() as guard:
            child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
            child.start()
            print(child.pid, flush=True)
            if sys.argv[1:] == ["early"]:
                time.sleep(60)
        print("ready", flush=True)
        time.sleep(60)
    """
)


def _is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def _ends(pid: int) -> bool:
    deadline = time.monotonic() + 15
    while _is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not _is_alive(pid)


def _killed_owner(tmp_path: Path, *arguments: str) -> int:
    script = tmp_path / "owner.py"
    script.write_text(OWNER, encoding="utf-8")
    command = [sys.executable, str(script), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as owner:
        child = int(owner.stdout.readline()) if owner.stdout else 0
        if not arguments and owner.stdout:
            owner.stdout.readline()
        else:
            time.sleep(0.5)  # the guard has been told
        owner.send_signal(signal.SIGKILL)
    return child


def test_a_child_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    assert _ends(_killed_owner(tmp_path))


def test_a_child_ends_when_its_owner_is_killed_while_it_starts(tmp_path: Path) -> None:
    assert _ends(_killed_owner(tmp_path, "early"))


def test_a_released_guard_ends_nothing_and_is_gone() -> None:
    with EngineGuard() as guard:
        child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
        child.start()

    guard.release()

    assert child.is_alive()
    child.kill()
    child.join()


def test_a_start_that_fails_leaves_no_guard() -> None:
    guard = EngineGuard()
    message = "no memory"

    with pytest.raises(MemoryError, match=message), guard:
        raise MemoryError(message)

    assert guard._watcher.returncode is not None
