"""A server in a process of its own, for as long as a block lasts."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import ROOT

_READY = "ready "
_LAST_CHARACTERS = 3000
_END_S = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """A running server.

    Attributes:
        port: Where it listens on the loopback interface.
        state: What it said about itself.
        pid: Its process.
    """

    port: int
    state: Mapping[str, Any]
    pid: int


@contextmanager
def serving(
    python: str | Path, module: str, arguments: Sequence[str | Path] = ()
) -> Iterator[Served]:
    """Run a module that writes ``ready``, a port and a JSON object, and serves until SIGTERM.

    Args:
        python: Interpreter of the environment that it runs in.
        module: Name of the module.
        arguments: Of its command line.

    Raises:
        RuntimeError: If it ends before it is ready; with what it wrote to standard error.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(  # noqa: S603 - the caller names its own environments
            [python, "-m", module, *map(str, arguments)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            port, state = _until_ready(process)
        except EOFError:
            process.wait()
            errors.seek(0)
            message = f"{module} did not start: {errors.read()[-_LAST_CHARACTERS:]}"
            raise RuntimeError(message) from None
        else:
            yield Served(port, state, process.pid)
        finally:
            _end(process)


def parse_ready(line: str) -> tuple[int, dict[str, Any]] | None:
    """Return port and state from the line of a server that is ready; None for any other line."""
    if not line.startswith(_READY):
        return None
    port, _, state = line.removeprefix(_READY).partition(" ")
    return int(port), json.loads(state)


def _until_ready(process: "subprocess.Popen[str]") -> tuple[int, dict[str, Any]]:
    for line in process.stdout or ():
        ready = parse_ready(line)
        if ready is not None:
            return ready
    raise EOFError


def _end(process: "subprocess.Popen[str]") -> None:
    """End the process in order, then whatever is left of its session's processes."""
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        if process.stdout is not None:
            process.stdout.close()
