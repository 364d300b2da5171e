"""One canary search for all who ask at the same moment: probes need no token and cost a search."""

import asyncio

from scp_ray.serve.service import QueryService


class Canary:
    """Checks a service; calls during a check share it. For the tasks of one event loop."""

    def __init__(self, service: QueryService) -> None:
        self._service = service
        self._running: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Search every shard once.

        Raises:
            ShardUnavailableError: If one does not answer.
            NotReadyError: If no generation is open yet.
        """
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._service.check())
            self._running.add_done_callback(_take_note)
        await asyncio.shield(self._running)


def _take_note(task: asyncio.Task[None]) -> None:
    """Keep asyncio from reporting a failure that nobody waited for any more."""
    if not task.cancelled():
        task.exception()
