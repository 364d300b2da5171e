"""What the cells of an ablation came to, each beside the base of its set."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import pyarrow as pa

from scp_ray import schema
from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.grid import Grid, differences
from scp_ray.evaluation.ablation.measure import Values
from scp_ray.evaluation.paired import PairedDifference, paired_difference
from scp_ray.evaluation.pairing import mean
from scp_ray.evaluation.report import FILE_DIGITS, difference_tree

COMPARED: Final = ("hit@1", "mrr@10", "evidence_recall")
"""Metrics whose difference to the base gets an interval; all are better when higher."""

FORMAT_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class SetFacts:
    """What a set is.

    Attributes:
        fingerprint: Names its content.
        num_documents: Its documents.
        num_characters: Their code points.
        num_questions: Its questions.
    """

    fingerprint: str
    num_documents: int
    num_characters: int
    num_questions: int


@dataclass(frozen=True, slots=True)
class CellResult:
    """One cell.

    Attributes:
        key: Its name.
        set_name: Its set.
        setting: Its factors.
        query_ids: The questions.
        num_chunks: Chunks of the corpus.
        signature_accuracy: Share of the chunks whose model is the true name; None without names.
        values: What each question counts, by metric.
    """

    key: str
    set_name: str
    setting: CellSetting
    query_ids: tuple[str, ...]
    num_chunks: int
    signature_accuracy: float | None
    values: Values

    def mean(self, metric: str) -> float:
        """Return the mean of a metric over the questions."""
        return mean(self.values[metric])


@dataclass(frozen=True, slots=True)
class Finding:
    """A cell that differs from the base by more than chance would have it.

    Attributes:
        cell: The cell.
        metric: In what.
        difference: By how much; its interval is without 0.
    """

    cell: CellResult
    metric: str
    difference: PairedDifference


@dataclass(frozen=True, slots=True)
class StudyResults:
    """Everything that was measured.

    Attributes:
        grid: The studies.
        facts: What each set is, by name.
        results: By set, the result of each setting; the base first.
        encoder: Name of the encoder.
    """

    grid: Grid
    facts: Mapping[str, SetFacts]
    results: Mapping[str, Mapping[CellSetting, CellResult]]
    encoder: str
    _compared: dict[str, dict[str, PairedDifference]] = field(default_factory=dict, compare=False)

    def base_of(self, set_name: str) -> CellResult:
        """Return the base of a set."""
        return self.results[set_name][self.grid.base]

    def compare(self, cell: CellResult) -> dict[str, PairedDifference]:
        """Return what a cell gains over the base of its set, by the names of ``COMPARED``."""
        if cell.key not in self._compared:
            base = self.base_of(cell.set_name)
            self._compared[cell.key] = {
                metric: paired_difference(base.values[metric], cell.values[metric])
                for metric in COMPARED
            }
        return self._compared[cell.key]

    def findings(self) -> list[Finding]:
        """Return where a cell beats its base or loses to it, by set and metric, best first.

        Of cells that agree in a metric question by question, the one nearest to the base stands
        for all.
        """
        return [
            found
            for set_name in self.results
            for metric in COMPARED
            for found in sorted(self._findings(set_name, metric), key=_best_first)
        ]

    def _findings(self, set_name: str, metric: str) -> list[Finding]:
        base = self.grid.base
        cells = sorted(
            self.results[set_name].values(), key=lambda cell: len(differences(cell.setting, base))
        )
        distinct: dict[tuple[float, ...], CellResult] = {}
        for cell in cells:
            distinct.setdefault(tuple(cell.values[metric]), cell)
        compared = [(cell, self.compare(cell)[metric]) for cell in distinct.values()]
        return [Finding(cell, metric, one) for cell, one in compared if not one.is_noise]

    def to_tree(self) -> dict[str, Any]:
        """Return all means and comparisons, JSON-ready: the same cells give the same tree."""
        cells = [cell for by_setting in self.results.values() for cell in by_setting.values()]
        return {
            "format_version": FORMAT_VERSION,
            "encoder": self.encoder,
            "sets": {name: asdict(facts) for name, facts in self.facts.items()},
            "base": self.grid.base.model_dump(mode="json"),
            "studies": [
                {
                    "name": study.name,
                    "factors": list(study.factors),
                    "cells": {
                        name: {
                            shown: self.results[name][one].key
                            for one, shown in study.settings.items()
                        }
                        for name in study.sets
                    },
                }
                for study in self.grid.studies
            ],
            "cells": {cell.key: self._cell_tree(cell) for cell in cells},
            "findings": [
                {"cell": one.cell.key, "metric": one.metric, "is_better": one.difference.mean > 0}
                for one in self.findings()
            ],
        }

    def to_table(self) -> pa.Table:
        """Return a row for each cell and question, with a column for each metric."""
        tables = [
            pa.table(
                {
                    schema.SET: [cell.set_name] * len(cell.query_ids),
                    schema.CELL: [cell.key] * len(cell.query_ids),
                    schema.QUERY_ID: list(cell.query_ids),
                    **cell.values,
                }
            )
            for by_setting in self.results.values()
            for cell in by_setting.values()
        ]
        return pa.concat_tables(tables)

    def _cell_tree(self, cell: CellResult) -> dict[str, Any]:
        accuracy = cell.signature_accuracy
        return {
            "set": cell.set_name,
            "differs_in": differences(cell.setting, self.grid.base),
            "num_chunks": cell.num_chunks,
            "signature_accuracy": None if accuracy is None else round(accuracy, FILE_DIGITS),
            "means": {name: round(cell.mean(name), FILE_DIGITS) for name in cell.values},
            "differences": {
                metric: difference_tree(difference)
                for metric, difference in self.compare(cell).items()
            },
        }


def _best_first(found: Finding) -> tuple[float, str]:
    return -found.difference.mean, found.cell.key
