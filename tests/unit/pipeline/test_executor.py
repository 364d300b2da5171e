"""The executor of this process."""

from collections.abc import Iterator

import pyarrow as pa

from scp_ray.pipeline.executor import InProcessExecutor, StageSpec


class Doubling:
    """Yields each batch twice, in two tables."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        assert batch.num_rows <= 2
        yield batch
        yield batch


class Counting:
    """Adds the rows up that it sees."""

    made = 0

    def __init__(self) -> None:
        type(self).made += 1

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        yield pa.table({"sum": [sum(batch["n"].to_pylist())]})


def test_stages_are_chained_in_batches_and_made_once() -> None:
    Counting.made = 0
    stages = [StageSpec("double", Doubling, 2), StageSpec("count", Counting, 100)]
    tables = list(InProcessExecutor().run(pa.table({"n": range(5)}), stages))
    assert sum(table["sum"][0].as_py() for table in tables) == 20
    assert Counting.made == 1


class Splitting:
    """Yields each row in a table of its own."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        for row in range(batch.num_rows):
            yield batch.slice(row, 1)


class Sizing:
    """Yields the rows of each batch, as a list."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        yield pa.table({"rows": [batch["n"].to_pylist()]})


def test_small_tables_are_joined_and_large_ones_cut() -> None:
    stages = [StageSpec("split", Splitting, 100), StageSpec("size", Sizing, 3)]
    joined = [
        t["rows"][0].as_py() for t in InProcessExecutor().run(pa.table({"n": range(7)}), stages)
    ]
    assert joined == [[0, 1, 2], [3, 4, 5], [6]]
    cut = InProcessExecutor().run(pa.table({"n": range(7)}), [StageSpec("size", Sizing, 3)])
    assert [t["rows"][0].as_py() for t in cut] == joined


def test_no_rows_no_calls() -> None:
    stage = StageSpec("double", Doubling, 2)
    assert list(InProcessExecutor().run(pa.table({"n": []}), [stage])) == []


def test_work_is_done_as_it_is_asked_for() -> None:
    stage = StageSpec("double", Doubling, 1)
    tables = InProcessExecutor().run(pa.table({"n": [1, 2]}), [stage])
    assert next(tables)["n"].to_pylist() == [1]
