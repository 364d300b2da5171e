"""Sweep the weight of the words, k1 and b over an index, and compare settings question by question.

One half of the questions chooses, by MRR@10; the other half says what the choice gains over the
settings in force. Vectors are searched exactly, so that nothing but the settings differs.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say
from scp_ray.config import Settings, load_settings
from scp_ray.evaluation.evidence import evaluate_contexts
from scp_ray.evaluation.metrics import CUTOFF, evaluate
from scp_ray.evaluation.paired import paired_difference
from scp_ray.evaluation.queries import Query, read_queries
from scp_ray.evaluation.relevance import HitSpan
from scp_ray.records import ChunkKey, ScoredChunk
from scp_ray.retrieval.context import Context, Passage
from scp_ray.retrieval.question import Question
from scp_ray.serve.context import context_of
from scp_ray.serve.models import QueryRequest, ResultModel
from scp_ray.serve.query_encoding import encode_each, load_query_encoder
from scp_ray.serve.query_plan import plan_query
from scp_ray.serve.question_reader import QuestionReader
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current

LEXICAL_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
K1 = (0.6, 0.9, 1.2, 1.6, 2.0)
B = (0.0, 0.25, 0.5, 0.75, 1.0)
_SEED = 1

Values: TypeAlias = dict[str, list[float]]
"""What each question counts, in the order of the questions, by metric."""


class Point(NamedTuple):
    """One choice of the settings that are swept."""

    lexical_weight: float
    k1: float
    b: float


class AskedIndex:
    """An index and questions that were read once; each choice of settings only searches.

    Args:
        index: Folder of the index.
        queries: Questions with their evidence.
        settings: Everything that is not swept.
        budget: Tokens of a context; 0 = none is assembled.
    """

    def __init__(
        self, index: Path, queries: Sequence[Query], settings: Settings, budget: int
    ) -> None:
        store = open_store(str(index))
        self._manifest = load_current(store)
        shard_ids = [entry.shard_id for entry in self._manifest.shards]
        self._group = ShardGroup.open(str(index), self._manifest, shard_ids, settings)
        reader = QuestionReader.open(store, self._manifest, settings)
        encoder = load_query_encoder(self._manifest, settings)
        with_words = settings.query_params(lexical_weight=1.0)
        self._questions = [
            reader.read(QueryRequest(query=query.query), with_words, encoded).question
            for query in queries
            for encoded in encode_each(encoder, [query.query])
        ]
        self._tokenizer = encoder.tokenizer
        self._queries, self._settings, self._budget = queries, settings, budget
        self._stored: dict[ChunkKey, ResultModel] = {}

    def ranking(self, point: Point, places: Iterable[int]) -> Values:
        """Ask the questions at ``places`` with one choice of settings, for results alone."""
        return self._ask(point, places, budget=0)

    def values(self, point: Point, places: Iterable[int]) -> Values:
        """Ask them for contexts too, where there is a budget."""
        return self._ask(point, places, budget=self._budget)

    def _ask(self, point: Point, places: Iterable[int], *, budget: int) -> Values:
        settings = self._settings.with_values("retrieval", lexical_weight=point.lexical_weight)
        request = QueryRequest(query="any", top_k=CUTOFF, exact=True, max_context_tokens=budget)
        plan = plan_query(request, self._manifest, settings)
        asked, replies, contexts = [], {}, {}
        for place in places:
            query, question = self._queries[place], _with_words(self._questions[place], point)
            selection = self._group.search(question, plan.params, None).selection
            in_context = plan.context_chunks(selection)
            stored = self._results({*selection.kept, *in_context})
            asked.append(query)
            replies[query.query_id] = [_span(stored[hit.key]) for hit in selection.kept]
            context = context_of(in_context, stored, plan, self._tokenizer)
            if context is not None:
                passages = [
                    Passage(
                        **passage.model_dump() | {"chunk_indexes": tuple(passage.chunk_indexes)}
                    )
                    for passage in context.passages
                ]
                contexts[query.query_id] = Context(context.tokens, tuple(passages), ())
        return self._counted(asked, replies, contexts)

    def _counted(
        self,
        asked: Sequence[Query],
        replies: dict[str, list[HitSpan]],
        contexts: dict[str, Context],
    ) -> Values:
        found = evaluate(asked, replies).values()
        values = {name: found[name] for name in ("hit@1", f"mrr@{CUTOFF}")}
        if contexts:
            evidence = evaluate_contexts(asked, contexts).outcomes
            values[f"evidence_recall@{self._budget}"] = [outcome.recall for outcome in evidence]
        return values

    def _results(self, hits: set[ScoredChunk]) -> dict[ChunkKey, ResultModel]:
        """Return text and origin of chunks, each read from the index once."""
        new = [hit for hit in hits if hit.key not in self._stored]
        self._stored |= self._group.results(new)
        return self._stored


def _with_words(question: Question, point: Point) -> Question:
    words = question.words and replace(question.words, k1=point.k1, b=point.b)
    return replace(question, words=words)


def _span(result: ResultModel) -> HitSpan:
    return HitSpan(result.doc_id, result.char_start, result.char_end)


def means(values: Values) -> dict[str, float]:
    """Return the mean of each metric."""
    return {name: rounded(float(np.mean(column))) for name, column in values.items()}


def differences(base: Values, system: Values) -> dict[str, dict[str, Any]]:
    """Return what a system gains over a base, by metric."""
    return {
        name: {
            key: rounded(value)
            for key, value in asdict(paired_difference(base[name], column)).items()
        }
        for name, column in system.items()
    }


def halves(num_questions: int) -> tuple[list[int], list[int]]:
    """Split the places of questions into one half to choose on and one to report."""
    places = np.random.default_rng(_SEED).permutation(num_questions).tolist()
    return sorted(places[: num_questions // 2]), sorted(places[num_questions // 2 :])


def sweep(asked: AskedIndex, start: Point, num_questions: int) -> dict[str, Any]:
    """Choose on one half and compare with ``start`` on the other."""
    chosen_on, held_out = halves(num_questions)
    grid = {
        point: means(asked.ranking(point, chosen_on))
        for point in (Point(weight, k1, b) for k1, b, weight in product(K1, B, LEXICAL_WEIGHTS))
        if point.lexical_weight or point[1:] == start[1:]
    }
    picked = max(grid, key=lambda point: (grid[point][f"mrr@{CUTOFF}"], grid[point]["hit@1"]))
    say(f"chosen on {len(chosen_on)} questions: {_named(picked)}, {_line(grid[picked])}")
    say(f"settings in force there: {_line(means(asked.ranking(start, chosen_on)))}")
    systems = {
        "in force": start,
        "chosen": picked,
        "vectors alone": start._replace(lexical_weight=0.0),
    }
    return {
        "grid": [{**point._asdict(), **grid[point]} for point in grid],
        "picked": picked._asdict(),
        "held_out": compare(
            {name: asked.values(point, held_out) for name, point in systems.items()}
        ),
    }


def levers(asked: AskedIndex, start: Point, num_questions: int) -> dict[str, Any]:
    """Move one setting at a time, over all questions, against the settings in force."""
    everything = range(num_questions)
    base, found = asked.values(start, everything), {}
    for name, choices in (("lexical_weight", LEXICAL_WEIGHTS), ("k1", K1), ("b", B)):
        say(f"{name}, the others as in force")
        moved = [start._replace(**{name: choice}) for choice in choices]
        systems = {
            f"{getattr(point, name):g}": base if point == start else asked.values(point, everything)
            for point in moved
        }
        found[name] = compare({"in force": base, **systems})
    return found


def compare(systems: dict[str, Values]) -> dict[str, Any]:
    """Say how systems do, each against the first."""
    base, rows = next(iter(systems.values())), {}
    for name, values in systems.items():
        figures, gained = means(values), differences(base, values)
        rows[name] = {"means": figures, "gain": gained}
        gains = "; ".join(
            f"{metric} {gain['mean']:+.3f} [{gain['low']:+.3f}, {gain['high']:+.3f}]"
            for metric, gain in gained.items()
        )
        say(f"  {name:<28} {_line(figures)} | {gains}")
    return rows


def _line(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in figures.items())


def _named(point: Point) -> str:
    return ", ".join(f"{name} {value}" for name, value in point._asdict().items())


def against(
    index: Path, others: Sequence[Path], queries: Sequence[Query], settings: Settings, budget: int
) -> dict[str, Any]:
    """Compare indexes of one corpus, each with words and without, with the first."""
    start = _in_force(settings)
    systems = {}
    for folder in (index, *others):
        asked = AskedIndex(folder, queries, settings, budget)
        for weight in dict.fromkeys((start.lexical_weight, 0.0)):
            name = f"{folder.name}, lexical_weight {weight:g}"
            systems[name] = asked.values(start._replace(lexical_weight=weight), range(len(queries)))
    return compare(systems)


def _in_force(settings: Settings) -> Point:
    return Point(settings.retrieval.lexical_weight, settings.lexical.k1, settings.lexical.b)


def main() -> None:
    """Compare, or sweep and say what the sweep chose."""
    args = _parser().parse_args()
    settings = load_settings(None, args.set)
    queries = read_queries(args.queries)
    environment = capture(settings, args.queries)
    if args.against:
        found = against(args.index, args.against, queries, settings, args.budget)
    else:
        asked, start = AskedIndex(args.index, queries, settings, args.budget), _in_force(settings)
        found = {
            "levers": levers(asked, start, len(queries)),
            "sweep": sweep(asked, start, len(queries)),
        }
    if args.out:
        Result(environment, {"budget": args.budget, "seed": _SEED}, found).write(
            args.out.stem, args.out.parent
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", metavar="INDEX", type=Path, help="folder of the index")
    parser.add_argument("queries", metavar="QUERIES", type=Path, help="questions as JSONL")
    parser.add_argument("--out", metavar="FILE.json", type=Path, help="write the figures there")
    parser.add_argument(
        "--budget", type=int, default=0, metavar="N", help="also contexts of at most N tokens"
    )
    parser.add_argument(
        "--against",
        type=Path,
        nargs="+",
        default=[],
        metavar="INDEX",
        help="instead of sweeping, compare with other indexes of the corpus",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="a setting"
    )
    return parser


if __name__ == "__main__":
    main()
