"""Ends the processes of an engine when the process that started it is killed.

The engine of vLLM is a process of its own, and it goes on for ever when its parent is killed
without notice, which is how actors end: the memory of its GPU would be lost until somebody looks.
Only for processes that are spawned: a forked one would hold the guard's input open.
"""

import multiprocessing
import subprocess
import threading
from types import TracebackType
from typing import Self

_POLL_S = 0.1
_WATCHER = """
pids=
while read -r pid; do pids="$pids $pid"; done
[ -n "$pids" ] || exit 0
kill -TERM $pids
for _ in 1 2 3 4 5 6 7 8 9 10; do
  sleep 1
  left=
  for pid in $pids; do kill -0 $pid && left="$left $pid"; done
  [ -n "$left" ] || exit 0
done
kill -KILL $left
"""


class EngineGuard:
    """A small process that ends those it was told of as soon as this process is no more.

    As a context manager it takes in all processes that ``multiprocessing`` starts meanwhile.
    """

    def __init__(self) -> None:
        """Start it; the end of its input is the end of this process."""
        self._watcher = subprocess.Popen(  # noqa: S603 - nothing of it comes from outside
            ["/bin/sh", "-c", _WATCHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what ends the group of this process spares it
        )
        self._known = {child.pid for child in multiprocessing.active_children()}
        self._is_complete = threading.Event()
        self._thread = threading.Thread(target=self._take_in_children, daemon=True)

    def __enter__(self) -> Self:
        """Begin to take in processes."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take in no more; let go of all where they did not come up."""
        self._is_complete.set()
        self._thread.join()
        if error is not None:
            self.release()

    def release(self) -> None:
        """Let go of the processes: they have been ended in order."""
        self._watcher.kill()
        self._watcher.communicate()

    def _take_in_children(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._is_complete.wait(_POLL_S)
            for child in multiprocessing.active_children():
                if child.pid not in self._known:
                    self._known.add(child.pid)
                    self._tell(f"{child.pid}\n")

    def _tell(self, line: str) -> None:
        if self._watcher.stdin is not None:
            self._watcher.stdin.write(line.encode())
            self._watcher.stdin.flush()
