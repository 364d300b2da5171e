"""Runs calls of one event loop together."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def all_together(work: Iterable[Coroutine[Any, Any, _Result]]) -> list[_Result]:
    """Do all at once; the first failure ends the others and is raised. Results in order."""
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(one) for one in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in running]
