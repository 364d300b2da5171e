"""A base setting, and variants of a few chunks."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.evaluation.ablation.config import CellSetting, checked_setting, product_setting
from scp_ray.evaluation.ablation.grid import Grid, StudyCells
from scp_ray.evaluation.ablation.results import CellResult, SetFacts, StudyResults
from scp_ray.evaluation.ablation.variant import Variant


@pytest.fixture(scope="session")
def setting() -> Callable[..., CellSetting]:
    """Return the product's setting with some factors changed."""

    def make(**changes: Any) -> CellSetting:
        return checked_setting({**product_setting(Settings()), **changes}, "test")

    return make


@pytest.fixture(scope="session")
def variant() -> Callable[..., Variant]:
    """Return a variant of documents given as lists of chunks, which lie one after the other."""

    def make(documents: dict[str, Sequence[str]], models: Sequence[str | None] = ()) -> Variant:
        rows = [
            (doc_id, index, len(chunks), sum(map(len, chunks[:index])), chunk)
            for doc_id, chunks in sorted(documents.items())
            for index, chunk in enumerate(chunks)
        ]
        doc_ids, indexes, counts, starts, texts = (
            list(column) for column in zip(*rows, strict=True)
        )
        ends = [start + len(text) for start, text in zip(starts, texts, strict=True)]
        prefixes, known = [""] * len(rows), list(models) or [None] * len(rows)
        return Variant(
            doc_ids, np.array(indexes), np.array(counts), starts, ends, texts, prefixes, known
        )

    return make


@pytest.fixture(scope="session")
def ablation_results(setting: Callable[..., CellSetting]) -> Callable[..., StudyResults]:
    """Return results of three gaps over forty questions: the first wins, the third loses."""

    def result(key: str, one: CellSetting, hits: Sequence[float]) -> CellResult:
        same = [0.5] * len(hits)
        values = {name: list(same) for name in ("mrr@10", "evidence_recall", "evidence_precision")}
        values |= {"hit@1": list(hits), "context_tokens": [900.0] * len(hits)}
        names = tuple(f"q{number}" for number in range(len(hits)))
        return CellResult(key, "small", one, names, 12, 0.75, values)

    def make() -> StudyResults:
        gaps = {gap: setting(min_index_gap=gap) for gap in (2, 1, 3)}
        hits = {2: [1.0, 0.0] * 20, 1: [1.0] * 40, 3: [0.0] * 40}
        keys = {2: "base", 1: "better", 3: "worse"}
        cells = {one: result(keys[gap], one, hits[gap]) for gap, one in gaps.items()}
        named = {gaps[gap]: str(gap) for gap in (1, 2, 3)}
        study = StudyCells("Gap", ("min_index_gap",), ("small",), named)
        grid = Grid(gaps[2], (study,), {"small": tuple(cells)})
        facts = SetFacts("f" * 32, 3, 4500, 40)
        return StudyResults(grid, {"small": facts}, {"small": cells}, "hash://32")

    return make
