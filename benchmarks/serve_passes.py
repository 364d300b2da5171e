"""What the steps of a query cost: the passes, the gap rule, words; in process and over HTTP."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.figures import say
from benchmarks.serve_bench import DEFAULT, VECTORS, Bench, Measured, summed_up
from benchmarks.serve_floor import encoder_threads
from benchmarks.serve_service import service
from scp_ray.config import Settings
from scp_ray.embedding.factory import load_encoder
from scp_ray.retrieval.gap_selector import select_with_gap
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.two_pass import prior_of
from scp_ray.serve.question_reader import open_term_statistics
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current

T = TypeVar("T")

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": DEFAULT,
    "no_gap": {**DEFAULT, "min_index_gap": 1},
    "no_position": {**DEFAULT, "position_weight": 0.0},
    "vectors": VECTORS,
    "vectors_no_gap": {**VECTORS, "min_index_gap": 1},
    "vectors_no_position": {**VECTORS, "position_weight": 0.0},
}
_WARM_UP = 20


def measure_passes(bench: Bench) -> dict[str, Any]:
    """Return what the passes and the gap rule take, in this process and over HTTP."""
    in_process = _steps(bench)
    say("in process: " + ", ".join(f"{k} {v['median']} ms" for k, v in in_process.items()))
    rounds: list[dict[str, Measured]] = []
    with service(bench.corpus.index, bench.serve_settings(num_groups=1)) as served:
        for number in range(bench.rounds):
            names = list(VARIANTS)
            order = names[number % len(names) :] + names[: number % len(names)]
            rounds.append(
                {name: bench.load(name, served.port, 1, VARIANTS[name]) for name in order}
            )
    return {"in_process_ms": in_process, "http": summed_up(rounds)}


def _steps(bench: Bench) -> dict[str, Any]:
    """Time the steps of each question by themselves, question after question."""
    opened = _Opened(bench.corpus.index, bench.settings)
    for question in bench.corpus.questions[:_WARM_UP]:
        opened.steps_ms(question)
    rounds = []
    for _ in range(bench.rounds):
        times: defaultdict[str, list[float]] = defaultdict(list)
        for question in bench.corpus.questions:
            for step, step_ms in opened.steps_ms(question).items():
                times[step].append(step_ms)
        rounds.append({step: statistics.median(values) for step, values in times.items()})
    return summed_up(rounds)


class _Opened:
    """An index's only shard and its encoder, in this process."""

    def __init__(self, index: Path, settings: Settings) -> None:
        store = open_store(str(index))
        manifest = load_current(store)
        shard_ids = [entry.shard_id for entry in manifest.shards]
        self._settings = settings
        self._group = ShardGroup.open(str(index), manifest, shard_ids, settings)
        self._encoder = load_encoder(settings.embedding, num_threads=encoder_threads(settings))
        self._terms = open_term_statistics(store, manifest, settings)

    def steps_ms(self, text: str) -> dict[str, float]:
        """Return the time of each step of one question, and of the same without a part of it."""

        def params(body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - QueryParams
            return self._settings.query_params(**body)

        times: dict[str, float] = {}
        (vector,) = _timed(times, "encode", partial(self._encoder.encode_query, [text]))
        words = _timed(times, "weigh_words", partial(self._terms.weigh, text))
        default = params(DEFAULT)
        first_pass = partial(self._group.first_pass, vector, default, None)
        prior = prior_of(_timed(times, "first_pass", first_pass), default)
        question = Question(vector, words)
        selection = self._group.second_pass(question, prior, default, None)  # brings all into cache
        for name, body in VARIANTS.items():
            asked = Question(vector) if name.startswith("vectors") else question
            second_pass = partial(self._group.second_pass, asked, prior, params(body), None)
            _timed(times, f"second_pass_{name}", second_pass)
        candidates = [decision.candidate for decision in selection.decisions]
        rule = partial(
            select_with_gap,
            candidates,
            top_k=default.top_k,
            min_index_gap=default.min_index_gap,
        )
        _timed(times, "gap_rule_alone", rule)
        times["gap_cost"] = times["second_pass_default"] - times["second_pass_no_gap"]
        times["words_cost"] = times["second_pass_default"] - times["second_pass_vectors"]
        return times


def _timed(times: dict[str, float], step: str, call: Callable[[], T]) -> T:
    started = time.perf_counter()
    value = call()
    times[step] = 1000.0 * (time.perf_counter() - started)
    return value
