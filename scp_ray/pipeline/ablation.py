"""One ablation: from what is asked to the results, over whatever was measured before."""

import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from scp_ray.annotators.factory import annotator_revision
from scp_ray.chop.prefix import PREFIX_REVISION
from scp_ray.config import Settings
from scp_ray.embedding.factory import named_tokenizer_revision
from scp_ray.errors import ConfigError
from scp_ray.evaluation.ablation.config import (
    AblationConfig,
    AnnotatorKind,
    CellSetting,
    SetConfig,
    VariantSetting,
    product_setting,
)
from scp_ray.evaluation.ablation.grid import Grid, make_grid, setting_key
from scp_ray.evaluation.ablation.results import CellResult, SetFacts, StudyResults
from scp_ray.evaluation.ablation.variant import text_key
from scp_ray.evaluation.baselines.chunkers import ChunkMethod
from scp_ray.pipeline.ablation_sets import QuestionSet, read_set, save_set
from scp_ray.pipeline.ablation_stages import (
    AblationSite,
    EmbedTextsStage,
    MeasureStage,
    PrepareStage,
    task_rows,
    task_table,
)
from scp_ray.pipeline.describe_stage import describe_encoder
from scp_ray.pipeline.executor import Executor, StageSpec
from scp_ray.pipeline.pools import ANNOTATE_POOL, BUILD_TASK, EMBED_POOL
from scp_ray.pipeline.report import Progress
from scp_ray.retrieval.terms import TERMS_REVISION
from scp_ray.sections import AnnotatorName
from scp_ray.storage.opening import is_inside, open_existing, open_store

ABLATION_REVISION: Final = "ablation-1"
"""Changes whenever the same cell could come to other values."""

_TEXTS_PER_BLOCK: Final = 256
_CELLS_PER_TASK: Final = 6


@dataclass(frozen=True, slots=True)
class AblationRequest:
    """What is asked for.

    Attributes:
        config: Sets, base and studies.
        out: Address of the results.
        settings: The product's settings: defaults of the factors, encoder, language model.
    """

    config: AblationConfig
    out: str
    settings: Settings


@dataclass
class AblationCounts:
    """How much was done, and how much was there before.

    Attributes:
        done: Variants, texts and cells that were made.
        reused: Those that were there.
        seconds: Wall time of each phase.
    """

    done: dict[str, int] = field(default_factory=dict)
    reused: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def ablation_settings(config: AblationConfig, settings: Settings) -> Settings:
    """Return the settings that a cluster is sized for: with the language model that is asked for.

    Raises:
        ConfigError: As ``make_grid``.
    """
    grid = make_grid(config, product_setting(settings))
    kinds = {one.annotator for cells in grid.cells.values() for one in cells}
    named = [AnnotatorName(kind.value) for kind in kinds if kind.needs_llm]
    if not named:
        return settings
    # A model on the cluster's own accelerators needs a place on it, a remote one none.
    sized_for = AnnotatorName.VLLM if AnnotatorName.VLLM in named else named[0]
    return settings.with_values("chop", annotator=sized_for)


def run_ablation(
    request: AblationRequest, executor: Executor, progress: Progress
) -> tuple[StudyResults, AblationCounts]:
    """Measure every cell that was not measured before, and compare.

    Raises:
        ConfigError: If what is asked does not fit; the key is named.
        QueriesFormatError: If the questions of a set cannot be used.
    """
    return _Ablation(request, executor, progress).run()


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell with the names of its pieces."""

    setting: CellSetting
    set_name: str
    variant_key: str
    key: str


class _Ablation:
    def __init__(self, request: AblationRequest, executor: Executor, progress: Progress) -> None:
        self._request = request
        self._executor = executor
        self._progress = progress
        self._counts = AblationCounts()
        settings = request.settings
        self._grid: Grid = make_grid(request.config, product_setting(settings))
        self._revisions = {kind: self._revision(kind) for kind in self._kinds()}
        out = open_store(request.out).url
        for name, one in request.config.sets.items():
            _refuse_inside(name, one, out)
        self._sets = {
            name: read_set(name, one, settings.corpus) for name, one in request.config.sets.items()
        }
        self._site = AblationSite(
            request.out,
            settings,
            describe_encoder(executor, settings),
            executor.encoder_threads,
            executor.num_annotators,
        )
        self._pieces = self._site.open()

    def run(self) -> tuple[StudyResults, AblationCounts]:
        cells = self._cells()
        self._progress(
            f"{len(cells)} cells over {len({cell.variant_key for cell in cells})} variants"
        )
        for one in self._sets.values():
            save_set(self._pieces.store, one)
        done = self._pieces.cells()
        todo = [cell for cell in cells if cell.key not in done]
        self._count("cells", len(todo), len(cells))
        self._timed("prepare", partial(self._prepare, todo, {one.variant_key for one in cells}))
        self._timed("embed", partial(self._embed, todo))
        self._timed("measure", partial(self._measure, todo))
        return self._results(cells), self._counts

    def _kinds(self) -> set[AnnotatorKind]:
        return {one.annotator for cells in self._grid.cells.values() for one in cells}

    def _revision(self, kind: AnnotatorKind) -> str:
        """Name what writes the signatures; refuses a language model that the settings lack."""
        if kind is AnnotatorKind.TRUE_NAME:
            return kind
        name = AnnotatorName(kind.value)
        return annotator_revision(self._request.settings.with_values("chop", annotator=name))

    def _cells(self) -> list[_Cell]:
        encoder = self._site.encoder.revision
        tokenizer = named_tokenizer_revision(self._request.settings.context.tokenizer)
        cells: list[_Cell] = []
        for name, settings in self._grid.cells.items():
            fingerprint = self._sets[name].fingerprint
            for setting in settings:
                revisions = (self._revisions[setting.annotator], PREFIX_REVISION, encoder)
                identity = (ABLATION_REVISION, fingerprint, *revisions)
                variant_key = setting_key(setting.variant, *identity)
                key = setting_key(setting, *identity, TERMS_REVISION, tokenizer)
                cells.append(_Cell(setting, name, variant_key, key))
        return cells

    def _prepare(self, todo: Sequence[_Cell], wanted_in_all: Set[str]) -> None:
        wanted = {cell.variant_key: cell for cell in todo}
        there = self._pieces.variants()
        missing = {key: cell for key, cell in wanted.items() if key not in there}
        self._count("variants", len(missing), len(wanted_in_all))
        pools: dict[str, list[dict[str, Any]]] = {}
        for key, cell in missing.items():
            task = {
                "key": key,
                "set": self._sets[cell.set_name].fingerprint,
                "setting": cell.setting.variant.model_dump(mode="json"),
            }
            pools.setdefault(_prepare_pool(cell.setting.variant), []).append(task)
        make = partial(PrepareStage, self._site)
        num_done = 0
        for pool, tasks in pools.items():
            for _ in self._run(tasks, StageSpec("prepare", make, 1, pool)):
                num_done += 1
                self._progress(f"cut and annotated {num_done}/{len(missing)} variants")

    def _embed(self, todo: Sequence[_Cell]) -> None:
        there = self._pieces.embedded()
        texts: dict[bytes, str] = {}
        questions: dict[bytes, str] = {}
        wanted: set[bytes] = set()
        for key in dict.fromkeys(cell.variant_key for cell in todo):
            mine = {text_key(text): text for text in self._pieces.load_variant(key).embedding_texts}
            texts |= {key: text for key, text in mine.items() if key not in there}
            wanted |= mine.keys()
        for name in dict.fromkeys(cell.set_name for cell in todo):
            for query in self._sets[name].queries:
                key_of = text_key(query.query, is_question=True)
                wanted.add(key_of)
                if key_of not in there:
                    questions[key_of] = query.query
        self._count("texts", len(texts) + len(questions), len(wanted))
        tasks = [*_blocks(questions, is_question=True), *_blocks(texts, is_question=False)]
        make = partial(EmbedTextsStage, self._site)
        num_done, num_all = 0, len(texts) + len(questions)
        for receipt in self._run(tasks, StageSpec("embed", make, 1, EMBED_POOL)):
            num_done += receipt["num_texts"]
            self._progress(f"embedded {num_done}/{num_all} texts")

    def _measure(self, todo: Sequence[_Cell]) -> None:
        by_variant: dict[str, list[_Cell]] = {}
        for cell in todo:
            by_variant.setdefault(cell.variant_key, []).append(cell)
        tasks = [
            {
                "set": self._sets[cells[0].set_name].fingerprint,
                "variant": key,
                "cells": [
                    {"key": cell.key, "setting": cell.setting.model_dump(mode="json")}
                    for cell in cells[first : first + _CELLS_PER_TASK]
                ],
            }
            for key, cells in by_variant.items()
            for first in range(0, len(cells), _CELLS_PER_TASK)
        ]
        make = partial(MeasureStage, self._site)
        num_done = 0
        for receipt in self._run(tasks, StageSpec("measure", make, 1, BUILD_TASK)):
            num_done += receipt["num_cells"]
            self._progress(f"measured {num_done}/{len(todo)} cells")

    def _run(self, tasks: Sequence[dict[str, Any]], stage: StageSpec) -> Iterator[dict[str, Any]]:
        for receipts in self._executor.run(task_table(tasks), [stage]):
            yield from task_rows(receipts)

    def _results(self, cells: Sequence[_Cell]) -> StudyResults:
        results: dict[str, dict[CellSetting, CellResult]] = {name: {} for name in self._sets}
        for cell in cells:
            measured = self._pieces.load_cell(cell.key)
            results[cell.set_name][cell.setting] = CellResult(
                cell.key,
                cell.set_name,
                cell.setting,
                tuple(measured["query_ids"]),
                measured["num_chunks"],
                measured["signature_accuracy"],
                measured["values"],
            )
        facts = {name: _facts(one) for name, one in self._sets.items()}
        return StudyResults(self._grid, facts, results, self._site.encoder.model)

    def _count(self, kind: str, num_done: int, num_wanted: int) -> None:
        self._counts.done[kind] = num_done
        self._counts.reused[kind] = num_wanted - num_done

    def _timed(self, phase: str, work: "partial[None]") -> None:
        started = time.perf_counter()
        work()
        self._counts.seconds[phase] = round(time.perf_counter() - started, 1)


def _refuse_inside(name: str, one: SetConfig, out: str) -> None:
    """Refuse results that the next run would read as documents."""
    corpus = open_existing(one.corpus).url
    if is_inside(out, corpus):
        message = f"sets.{name}.corpus: the results {out} must not be inside the corpus {corpus}"
        raise ConfigError(message)


def _prepare_pool(setting: VariantSetting) -> str:
    if setting.annotator.needs_llm:
        return ANNOTATE_POOL
    return EMBED_POOL if setting.chunker is ChunkMethod.COSINE else BUILD_TASK


def _blocks(texts: Mapping[bytes, str], *, is_question: bool) -> list[dict[str, Any]]:
    ordered = list(texts.values())
    return [
        {"texts": ordered[first : first + _TEXTS_PER_BLOCK], "is_question": is_question}
        for first in range(0, len(ordered), _TEXTS_PER_BLOCK)
    ]


def _facts(one: QuestionSet) -> SetFacts:
    return SetFacts(
        one.fingerprint,
        len(one.documents),
        sum(map(len, one.documents.values())),
        len(one.queries),
    )
