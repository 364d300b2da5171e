"""What an evaluation leaves: figures as JSON, a row a question as Parquet, and a page.

``docs/evaluation.md`` describes the files. Only ``timings_ms`` differs between two evaluations of
the same questions, settings and generation.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scp_ray.errors import ConfigError
from scp_ray.evaluation.bootstrap import mean_interval
from scp_ray.evaluation.pairing import mean
from scp_ray.evaluation.relevance import is_relevant
from scp_ray.evaluation.report import difference_tree, interval_tree
from scp_ray.evaluation.runs.comparison import Comparison, EarlierRun
from scp_ray.evaluation.runs.record import AskedQuestion, EvaluationRun, Sweep

FIGURES_FILE: Final = "evaluation.json"
QUESTIONS_FILE: Final = "questions.parquet"
PAGE_FILE: Final = "report.html"
FORMAT: Final = 1

_Columns: TypeAlias = dict[str, tuple[pa.DataType, Sequence[Any]]]

_PLACE: Final = (
    pa.field("doc_id", pa.string()),
    pa.field("char_start", pa.int64()),
    pa.field("char_end", pa.int64()),
)
_SAME_MEAN: Final = 1e-5  # means are written with six digits
_SCORES: Final = ("position", "score", "semantic_score", "lexical_score", "position_score")
_RESULT: Final = pa.struct(
    [
        pa.field("rank", pa.int64()),
        *_PLACE,
        pa.field("chunk_index", pa.int64()),
        *(pa.field(name, pa.float64()) for name in _SCORES),
        pa.field("is_relevant", pa.bool_()),
    ]
)
_PERCENTILES: Final = {"median": 50, "p95": 95}


def figures_of(run: EvaluationRun, comparison: Comparison | None) -> dict[str, Any]:
    """Return an evaluation as JSON, rounded to six digits; timings come last."""
    values: dict[str, Any] = {
        "format": FORMAT,
        "index": run.index,
        "generation": run.generation,
        "encoder": run.encoder,
        "queries": {
            "file": run.queries_file,
            "sha256": run.fingerprint,
            "n": len(run.asked),
        },
        "budget": run.budget,
        "settings": run.settings,
        "metrics": {name: interval_tree(value) for name, value in run.intervals.items()},
        "sweeps": [_sweep(sweep) for sweep in run.sweeps],
    }
    if comparison is not None:
        values["against"] = against_of(comparison)
    return {**values, "timings_ms": timings_of(run)}


def against_of(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON: differences are this evaluation minus the earlier one."""
    earlier = comparison.earlier
    return {
        "folder": earlier.folder,
        "index": earlier.index,
        "generation": earlier.generation,
        "differences": {
            name: difference_tree(found) for name, found in comparison.differences.items()
        },
        "left_out": list(comparison.left_out),
    }


def timings_of(run: EvaluationRun) -> dict[str, dict[str, float]]:
    """Return the median and the 95th percentile of each step's milliseconds."""
    steps = dict.fromkeys(step for asked in run.asked for step in asked.timings_ms)
    found = {}
    for step in steps:
        times = [asked.timings_ms[step] for asked in run.asked if step in asked.timings_ms]
        found[step] = {
            name: round(float(np.percentile(times, share)), 3)
            for name, share in _PERCENTILES.items()
        }
    return found


def write_run(folder: Path, run: EvaluationRun, comparison: Comparison | None, page: str) -> None:
    """Write ``evaluation.json``, ``questions.parquet`` and ``report.html`` into a folder.

    Raises:
        OSError: If they cannot be written.
    """
    text = json.dumps(figures_of(run, comparison), ensure_ascii=False, indent=1) + "\n"
    # A name of a file may hold bytes that are no UTF-8.
    (folder / FIGURES_FILE).write_bytes(text.encode("utf-8", "replace"))
    pq.write_table(questions_table(run), folder / QUESTIONS_FILE)
    (folder / PAGE_FILE).write_text(page, encoding="utf-8")


def questions_table(run: EvaluationRun) -> pa.Table:
    """Return a row a question: its evidence, what it counts, results, prior and timings."""
    steps = dict.fromkeys(step for asked in run.asked for step in asked.timings_ms)
    columns: _Columns = {
        "query_id": (pa.string(), [asked.query.query_id for asked in run.asked]),
        "query": (pa.string(), [asked.query.query for asked in run.asked]),
        "relevant": (pa.list_(pa.struct(_PLACE)), [_relevant(asked) for asked in run.asked]),
        **{name: (pa.float64(), column) for name, column in run.values.items()},
        "results": (pa.list_(_RESULT), [_results(asked) for asked in run.asked]),
        "prior_position": (pa.float64(), [asked.prior_position for asked in run.asked]),
        "prior_concentration": (pa.float64(), [asked.prior_concentration for asked in run.asked]),
        "prior_applied": (pa.bool_(), [asked.is_prior_applied for asked in run.asked]),
        "lexical_weight": (pa.float64(), [asked.lexical_weight for asked in run.asked]),
        **{
            f"{step}_ms": (pa.float64(), [asked.timings_ms.get(step) for asked in run.asked])
            for step in steps
        },
    }
    return pa.table({name: pa.array(column, kind) for name, (kind, column) in columns.items()})


def read_earlier(folder: Path) -> EarlierRun:
    """Read the files of an earlier evaluation.

    Raises:
        ConfigError: If they are missing, damaged, of another format, or do not belong together.
    """
    try:
        figures = json.loads((folder / FIGURES_FILE).read_text(encoding="utf-8"))
        if figures["format"] != FORMAT:
            message = f"{folder} has format {figures['format']}, this version reads {FORMAT}"
            raise ConfigError(message)
        names = list(figures["metrics"])
        table = pq.read_table(folder / QUESTIONS_FILE, columns=["query_id", "query", *names])
        questions = dict(
            zip(*(table[name].to_pylist() for name in table.column_names[:2]), strict=True)
        )
        means = {name: mean(table[name].to_pylist()) for name in names}
        if len(questions) != figures["queries"]["n"] or any(
            abs(means[name] - figures["metrics"][name]["mean"]) > _SAME_MEAN for name in names
        ):
            message = f"{folder}: {QUESTIONS_FILE} and {FIGURES_FILE} are of different evaluations"
            raise ConfigError(message)
        return EarlierRun(
            str(folder),
            figures["index"],
            figures["generation"],
            figures["queries"]["sha256"],
            questions,
            {name: table[name].to_pylist() for name in names},
        )
    except OSError as error:
        reason = error.strerror or error
        message = f"{folder} is no folder of `scp-ray evaluate --out`: {reason}"
        raise ConfigError(message) from error
    except (ValueError, KeyError, TypeError, RecursionError, pa.ArrowException) as error:
        message = f"{folder}: {FIGURES_FILE} or {QUESTIONS_FILE} is damaged: {error}"
        raise ConfigError(message) from error


def _sweep(sweep: Sweep) -> dict[str, Any]:
    return {
        "setting": sweep.setting,
        "in_force": sweep.in_force,
        "n": sweep.num_questions,
        "points": [
            {
                "value": point.value,
                "metrics": {
                    name: interval_tree(mean_interval(column))
                    for name, column in point.values.items()
                },
            }
            for point in sweep.points
        ],
    }


def _relevant(asked: AskedQuestion) -> list[dict[str, Any]]:
    return [
        {"doc_id": span.doc_id, "char_start": span.char_start, "char_end": span.char_end}
        for span in asked.query.relevant
    ]


def _results(asked: AskedQuestion) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            **found.span._asdict(),
            "chunk_index": found.chunk_index,
            **{name: getattr(found, name) for name in _SCORES},
            "is_relevant": is_relevant(found.span, asked.query.relevant),
        }
        for rank, found in enumerate(asked.results, 1)
    ]
