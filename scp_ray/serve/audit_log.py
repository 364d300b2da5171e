"""The retrieval audit log: for each answer a line of JSON, of what it was made of.

Its columns are ``audit_line.AUDIT_SCHEMA``; ``docs/observability.md`` explains them. A thread of
its own writes: no query waits for a disk, or fails for one.
"""

import json
import logging
import os
import queue
import secrets
import socket
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Thread

from scp_ray.errors import ConfigError
from scp_ray.serve.audit_line import Answer, line_of
from scp_ray.serve.metrics import Metrics, NoMetrics
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.reply import Findings

_LOGGER = logging.getLogger("scp_ray.audit")
_MAX_WAITING = 1024
_TELL_EVERY_S = 60.0
_CLOSING_S = 5.0
_MODE = 0o640


class AuditLog:
    """Writes answers to files of this process alone, one for each hour; threads may share it.

    A line is in its file, complete, within a second or so after ``record``. Answers that do not
    fit into the queue or cannot be written are counted, in the log once a minute, and are lost.

    Args:
        folder: Where the files are to be; made if it is not there.
        with_text: Whether questions are there as text beside their SHA-256.
        metrics: What counts the lost answers.

    Raises:
        ConfigError: If the folder cannot be written to.
    """

    def __init__(self, folder: str, *, with_text: bool, metrics: Metrics | None = None) -> None:
        _check_writable(Path(folder))
        self._with_text = with_text
        self._waiting: queue.Queue[Answer | None] = queue.Queue(_MAX_WAITING)
        self._losses = _Losses(metrics or NoMetrics())
        self._files = _HourlyFiles(Path(folder))
        self._is_closed = False
        self._thread = Thread(target=self._write_all, name="scp_ray audit log", daemon=True)
        self._thread.start()

    @property
    def num_lost(self) -> int:
        """Answers that are not in the files, and will not be."""
        return self._losses.num_all

    def record(self, request: QueryRequest, generation: int, findings: Findings) -> None:
        """Have an answer written; returns at once."""
        if self._is_closed:
            self._losses.add(1, "it is closed")
            return
        try:
            self._waiting.put_nowait(Answer(time.time(), request, generation, findings))
        except queue.Full:
            self._losses.add(1, "the disk is too slow")

    def close(self) -> None:
        """Write what waits, as far as ten seconds suffice, and end; what comes later is lost."""
        self._is_closed = True
        if self._thread.is_alive():
            with suppress(queue.Full):
                self._waiting.put(None, timeout=_CLOSING_S)
            self._thread.join(_CLOSING_S)

    def _write_all(self) -> None:
        is_open = True
        while is_open:
            answers = self._next_answers()
            is_open = answers[-1] is not None
            self._write([answer for answer in answers if answer is not None])
            self._losses.tell_when_due()
        self._files.close()
        self._losses.tell()

    def _next_answers(self) -> list[Answer | None]:
        """Wait for an answer, and return it with all that wait; None at the end is the end."""
        answers = [self._waiting.get()]
        while answers[-1] is not None:
            try:
                answers.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        return answers

    def _write(self, answers: list[Answer]) -> None:
        by_hour: dict[str, list[bytes]] = {}
        for answer in answers:
            try:
                line = _encoded(answer, with_text=self._with_text)
            except Exception as error:  # noqa: BLE001 - the thread has to outlive one answer
                self._losses.add(1, f"{type(error).__name__}: {error}")
            else:
                by_hour.setdefault(_hour(answer.seconds), []).append(line)
        for hour, lines in by_hour.items():
            try:
                self._files.append(hour, b"".join(lines))
            except OSError as error:
                self._losses.add(len(lines), str(error))


class _HourlyFiles:
    """The file of the hour, which holds whole lines only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # The random part keeps apart processes of one id, as those in containers are.
        self._writer = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._hour = ""
        self._file: int | None = None

    def append(self, hour: str, lines: bytes) -> None:
        """Append lines, all of them or none.

        Raises:
            OSError: If they could not be written.
        """
        file = self._opened(hour)
        size = os.fstat(file).st_size
        try:
            written = 0
            while written < len(lines):
                written += os.write(file, lines[written:])
        except OSError:
            os.ftruncate(file, size)
            raise

    def close(self) -> None:
        """Close the file, if one is open."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self, hour: str) -> int:
        is_there = self._file is not None and os.fstat(self._file).st_nlink > 0
        if hour != self._hour or not is_there:
            self.close()
        if self._file is None:
            path = self._folder / f"audit-{hour}-{self._writer}.jsonl"
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE)
            self._hour = hour
        return self._file


class _Losses:
    """Counts answers that were lost, and says so in the log once a minute at most."""

    def __init__(self, metrics: Metrics) -> None:
        self.num_all = 0
        self._num_told = 0
        self._reason = ""
        self._tell_from = 0.0
        self._metrics = metrics
        self._lock = Lock()

    def add(self, count: int, reason: str) -> None:
        self._metrics.audit_lost(count)
        with self._lock:
            self.num_all += count
            self._reason = reason
        self.tell_when_due()

    def tell_when_due(self) -> None:
        if self.num_all > self._num_told and time.monotonic() >= self._tell_from:
            self.tell()

    def tell(self) -> None:
        with self._lock:
            count, self._num_told = self.num_all - self._num_told, self.num_all
            self._tell_from = time.monotonic() + _TELL_EVERY_S
        if count:
            _LOGGER.error("%d answers are missing in the audit log: %s", count, self._reason)


def _encoded(answer: Answer, *, with_text: bool) -> bytes:
    """Return a line; a lone surrogate, which readers of JSON refuse, becomes a question mark."""
    line = json.dumps(line_of(answer, with_text=with_text), allow_nan=False, ensure_ascii=False)
    return line.encode("utf-8", "replace") + b"\n"


def _hour(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%dT%HZ}"


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\n")
    except OSError as error:
        message = f"serve.audit_log: cannot write to {folder}: {error}"
        raise ConfigError(message) from error
