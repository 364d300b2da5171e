"""Where commands write: results to standard output, everything else to standard error."""

import json
import sys
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of ``scp-ray`` and of the jobs."""

    DONE = 0
    FAILED = 1
    WRONG_USE = 2
    PARTIAL = 3
    LEASE_HELD = 4


def show(text: str) -> None:
    """Write a line of the result."""
    sys.stdout.write(text + "\n")


def show_json(value: object, *, indent: int | None = None) -> None:
    """Write a value of the result as JSON."""
    show(json.dumps(value, ensure_ascii=False, indent=indent))


def tell(text: str) -> None:
    """Write a line about the progress."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
