"""When annotators are called, as an executor notes it."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchmarks.annotate_job import MarkingExecutor, read_marks
from scp_ray.pipeline.executor import InProcessExecutor, StageSpec
from scp_ray.pipeline.pools import ANNOTATE_POOL, READ_POOL


class Passing:
    """Passes rows on."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        yield batch


def test_only_the_calls_of_annotators_are_noted_and_rows_pass_unchanged(tmp_path: Path) -> None:
    stages = [
        StageSpec("read", Passing, 1, READ_POOL),
        StageSpec("annotate", Passing, 2, ANNOTATE_POOL),
    ]
    executor = MarkingExecutor(InProcessExecutor(), tmp_path / "marks")
    rows = pa.table({"row": list(range(5))})

    out = pa.concat_tables(executor.run(rows, stages))

    marks = read_marks(tmp_path / "marks")
    assert out.equals(rows)
    assert len(marks.begun) == len(marks.ended) == 3
    assert marks.num_annotators == 1
    assert marks.ready <= min(marks.begun) <= max(marks.ended)


def test_seconds_go_from_the_first_call_to_the_end_of_the_last_over_all_annotators(
    tmp_path: Path,
) -> None:
    lines = ["ready 3 1", "ready 5 2", "begun 6.5 2", "begun 6 1", "ended 9 1", "ended 8 2"]
    (tmp_path / "marks").write_text("\n".join(lines), encoding="ascii")

    marks = read_marks(tmp_path / "marks")

    assert marks.seconds == 3
    assert marks.ready == 3
    assert marks.num_annotators == 2
