"""How a chain of stages is run: in this process, or (``ray_executor``) on a Ray cluster.

A stage is a class that is made once and then called with Arrow tables; it yields Arrow tables.
The same chain gives the same rows on either executor, in an order that is not promised.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from scp_ray.config import available_cpus

Stage: TypeAlias = Callable[[pa.Table], Iterable[pa.Table]]


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One step of a chain.

    Attributes:
        name: For progress and errors.
        make: Makes the stage; called in the process that runs it. Must be picklable.
        batch_rows: Most rows of one call.
        pool: Name of the actor pool that keeps the stage alive between calls, for stages that
            are costly to make; None runs each call as a task of its own.
        multiplies_rows: Whether more rows come out than go in; all actors of the stages after it
            share them.
    """

    name: str
    make: Callable[[], Stage]
    batch_rows: int
    pool: str | None = None
    multiplies_rows: bool = False


class Executor(Protocol):
    """Runs chains of stages.

    Attributes:
        encoder_threads: CPU threads that an encoder in a stage may use.
        num_annotators: Annotators that share the limits of a language model.
    """

    encoder_threads: int
    num_annotators: int

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        """Send ``rows`` through ``stages`` and yield what comes out, as it comes.

        Closing the iterator ends the work.
        """
        ...


class InProcessExecutor:
    """Runs every stage in this process, one batch after another."""

    def __init__(self, encoder_threads: int | None = None) -> None:
        self.encoder_threads = encoder_threads or available_cpus()
        self.num_annotators = 1

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        """Send ``rows`` through ``stages`` and yield what comes out, as it comes."""
        if not rows.num_rows:
            return
        with ExitStack() as made:
            tables: Iterator[pa.Table] = iter([rows])
            for spec in stages:
                stage = spec.make()
                made.callback(close_stage, stage)
                tables = _through(stage, _batches(tables, spec.batch_rows))
            yield from tables


def close_stage(stage: object) -> None:
    """Let a stage end what it holds, if it holds anything."""
    close = getattr(stage, "close", None)
    if close is not None:
        close()


def _batches(tables: Iterable[pa.Table], batch_rows: int) -> Iterator[pa.Table]:
    """Cut and join tables into batches of ``batch_rows``; the last may be shorter."""
    waiting: list[pa.Table] = []
    room = batch_rows
    for table in tables:
        start = 0
        while start < table.num_rows:
            waiting.append(table.slice(start, room))
            start += waiting[-1].num_rows
            room -= waiting[-1].num_rows
            if not room:
                yield pa.concat_tables(waiting)
                waiting, room = [], batch_rows
    if waiting:
        yield pa.concat_tables(waiting)


def _through(stage: Stage, batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
    for batch in batches:
        yield from stage(batch)
