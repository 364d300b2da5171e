"""One index asked all questions, by turns through scp_ray and through the bare libraries."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.figures import rounded, say, spread
from benchmarks.query_floor import QueryFloor
from scp_ray.config import Settings
from scp_ray.embedding.model_folder import find_model_folder
from scp_ray.embedding.model_loading import load_model
from scp_ray.embedding.sentence_transformer import SentenceTransformerEncoder
from scp_ray.retrieval.gap_selector import select_with_gap
from scp_ray.retrieval.two_pass import prior_of
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.query_encoding import encode_each
from scp_ray.serve.question_reader import QuestionReader, open_term_statistics
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current

_NUM_WARM_UP = 20

T = TypeVar("T")


@dataclass(slots=True)
class Timings:
    """Milliseconds of single queries.

    Attributes:
        ours: Whole answers from vectors and position alone, the paper's method.
        fused: Whole answers with words beside them, the default.
        floor: Encoder and searches alone.
        steps: Steps of both sides, by name.
    """

    ours: list[float] = field(default_factory=list)
    fused: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    steps: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


class OpenIndex:
    """An index in a folder, opened for both sides with one encoder."""

    def __init__(self, index: Path, settings: Settings) -> None:
        store = open_store(str(index))
        self.manifest = load_current(store)
        self.settings = settings
        config = settings.embedding
        model = load_model(find_model_folder(config.model), config)
        self.encoder = SentenceTransformerEncoder(
            config.model, self.manifest.encoder.revision, model, config.batch_size
        )
        entries = [entry for entry in self.manifest.shards if entry.folder is not None]
        self.group = ShardGroup.open(
            str(index), self.manifest, [entry.shard_id for entry in entries], settings
        )
        terms = open_term_statistics(store, self.manifest, settings)
        self.reader = QuestionReader(self.encoder.dim, terms, self.encoder.tokenizer)
        self.searcher = LocalSearcher(
            self.manifest, self.group, self.encoder, self.reader, settings
        )
        folders = [
            fetch_verified(store, str(entry.folder), entry.checksums, index) for entry in entries
        ]
        self.floor = QueryFloor(model, folders, settings.index, settings.retrieval)


def measure_queries(opened: OpenIndex, questions: Sequence[str], num_rounds: int) -> dict[str, Any]:
    """Ask every question once a round; the sides take turns at going first."""
    for question in questions[:_NUM_WARM_UP]:
        _ask_all(opened, question, Timings(), first=0)
    rounds: list[Timings] = []
    for number in range(num_rounds):
        timings = Timings()
        for place, question in enumerate(questions):
            _ask_all(opened, question, timings, first=place + number)
        rounds.append(timings)
        ours, fused, floor = map(statistics.median, (timings.ours, timings.fused, timings.floor))
        say(
            f"round {number + 1}: {ours:.2f} ms, fused {fused:.2f} ms, floor {floor:.2f} ms, "
            f"ratio {ours / floor:.3f}, fused {fused / ours:.3f}"
        )
    return {
        "num_chunks": opened.manifest.num_chunks,
        "num_shards": len(opened.manifest.shards),
        "num_queries": num_rounds * len(questions),
        **_figures(rounds),
        "selection_ms": _selection(opened, questions),
    }


def _ask_all(opened: OpenIndex, question: str, timings: Timings, *, first: int) -> None:
    sides = (_ask_ours, _ask_fused, _ask_floor)
    for place in range(len(sides)):
        sides[(first + place) % len(sides)](opened, question, timings)


def _ask_ours(opened: OpenIndex, question: str, timings: Timings) -> None:
    request = QueryRequest(query=question, lexical_weight=0.0)
    timings.ours.append(_answer_ms(opened, request, timings.steps, ""))


def _ask_fused(opened: OpenIndex, question: str, timings: Timings) -> None:
    request = QueryRequest(query=question)
    timings.fused.append(_answer_ms(opened, request, timings.steps, "fused_"))


def _answer_ms(
    opened: OpenIndex, request: QueryRequest, steps: dict[str, list[float]], prefix: str
) -> float:
    started = time.perf_counter()
    reply = opened.searcher.answer(request)
    total_ms = _ms_since(started)
    for step, step_ms in reply.timings_ms.items():
        steps[f"{prefix}{step}"].append(step_ms)
    steps[f"{prefix}request_and_reply"].append(total_ms - reply.timings_ms["total"])
    return total_ms


def _ask_floor(opened: OpenIndex, question: str, timings: Timings) -> None:
    started = time.perf_counter()
    query = opened.floor.encode(question)
    encode_ms = _ms_since(started)
    opened.floor.search(query)
    total_ms = _ms_since(started)
    timings.floor.append(total_ms)
    timings.steps["floor_encode"].append(encode_ms)
    timings.steps["floor_searches"].append(total_ms - encode_ms)


def _figures(rounds: Sequence[Timings]) -> dict[str, Any]:
    ours = [value for timings in rounds for value in timings.ours]
    floor = [value for timings in rounds for value in timings.floor]
    ratios = [
        statistics.median(timings.ours) / statistics.median(timings.floor) for timings in rounds
    ]
    fused_ratios = [
        statistics.median(timings.fused) / statistics.median(timings.ours) for timings in rounds
    ]
    return {
        "ours_ms": _percentiles(ours),
        "fused_ms": _percentiles([value for timings in rounds for value in timings.fused]),
        "floor_ms": _percentiles(floor),
        "ratio": spread(ratios),
        "fused_ratio": spread(fused_ratios),
        "step_ms": {
            step: rounded(
                statistics.median([value for timings in rounds for value in timings.steps[step]])
            )
            for step in rounds[0].steps
        },
    }


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(values, [50, 95]).tolist()
    return {"p50": rounded(p50), "p95": rounded(p95)}


def _selection(opened: OpenIndex, questions: Sequence[str]) -> dict[str, float]:
    """Return medians of the second pass with and without the gap rule, and of the rule alone."""
    params = opened.settings.query_params(lexical_weight=0.0)
    without_gap = opened.settings.query_params(lexical_weight=0.0, min_index_gap=1)
    second_pass = opened.group.second_pass
    runs: list[dict[str, float]] = []
    for question in questions:
        (encoded,) = encode_each(opened.encoder, [question])
        asked, _ = opened.reader.read(QueryRequest(query=question), params, encoded)
        prior = prior_of(opened.group.first_pass(asked.vector, params, None), params)
        selection, with_gap_ms = _timed_ms(partial(second_pass, asked, prior, params, None))
        _, without_gap_ms = _timed_ms(partial(second_pass, asked, prior, without_gap, None))
        candidates = [decision.candidate for decision in selection.decisions]
        gaps = {"top_k": params.top_k, "min_index_gap": params.min_index_gap}
        _, rule_ms = _timed_ms(partial(select_with_gap, candidates, **gaps))
        runs.append(
            {"second_pass": with_gap_ms, "without_gap": without_gap_ms, "gap_rule_alone": rule_ms}
        )
    return {name: spread([run[name] for run in runs])["median"] for name in runs[0]}


def _timed_ms(call: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    value = call()
    return value, _ms_since(started)


def _ms_since(started: float) -> float:
    return 1000.0 * (time.perf_counter() - started)
