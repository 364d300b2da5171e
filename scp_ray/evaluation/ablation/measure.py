"""Measures one cell: every question's results and context, and what they are worth."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.scoring import ScoredVariant
from scp_ray.evaluation.ablation.signatures import NamedPart, name_at
from scp_ray.evaluation.ablation.variant import Variant, text_key
from scp_ray.evaluation.baselines.selectors import RankedRows, Selector, SelectorParams, select
from scp_ray.evaluation.evidence import evaluate_contexts
from scp_ray.evaluation.metrics import evaluate
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import HitSpan
from scp_ray.protocols import Tokenizer
from scp_ray.retrieval.context import Context, ContextHit, CountTokens, assemble_context

Values: TypeAlias = dict[str, list[float]]
"""What each question counts, in the order of the questions, by metric."""


class RememberedCounts:
    """Counts tokens of texts; what was counted before is looked up by its hash.

    Args:
        tokenizer: Counts.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._counts: dict[bytes, int] = {}

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has on its own."""
        return [self._count(text) for text in texts]

    def _count(self, text: str) -> int:
        key = text_key(text)
        if key not in self._counts:
            (self._counts[key],) = self._tokenizer.count_tokens([text])
        return self._counts[key]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a cell gives to one question.

    Attributes:
        hits: The first ``top_k`` results.
        context: Assembled from the results.
    """

    hits: list[HitSpan]
    context: Context


def measure_cell(
    scored: ScoredVariant,
    queries: Sequence[Query],
    setting: CellSetting,
    count_tokens: CountTokens,
) -> Values:
    """Answer every question and return what each answer counts, by metric.

    Args:
        scored: The variant of the cell, over the same questions in the same order.
        queries: The questions with their evidence.
        setting: The cell.
        count_tokens: Counts the tokens of contexts.
    """
    answers = {
        query.query_id: answer_question(scored, row, setting, count_tokens)
        for row, query in enumerate(queries)
    }
    ranking = evaluate(queries, {name: answer.hits for name, answer in answers.items()})
    evidence = evaluate_contexts(
        queries, {name: answer.context for name, answer in answers.items()}
    )
    return {**ranking.values(), **evidence.values()}


def answer_question(
    scored: ScoredVariant, row: int, setting: CellSetting, count_tokens: CountTokens
) -> Answer:
    """Return what a cell gives to one question."""
    ranking = scored.rank(row, setting)
    params = SelectorParams(
        setting.selector, setting.min_index_gap, setting.mmr_lambda, setting.max_per_document
    )
    num_in_context = setting.context_candidates if setting.budget_tokens else setting.top_k
    rows = select(ranking, max(setting.top_k, num_in_context), params)
    hits = [_span(scored.variant, one) for one in rows[: setting.top_k]]
    taken = [_hit(scored.variant, ranking, one) for one in rows[:num_in_context]]
    assemble = whole_context if setting.selector is Selector.TOP_K else assemble_context
    max_tokens = setting.budget_tokens or sys.maxsize
    return Answer(hits, assemble(taken, max_tokens=max_tokens, count_tokens=count_tokens))


def whole_context(
    hits: Sequence[ContextHit], *, max_tokens: int, count_tokens: CountTokens
) -> Context:
    """Go down the hits and take each one that still fits, whole: text that repeats costs again.

    Args:
        hits: In rank order.
        max_tokens: Most tokens of the context.
        count_tokens: Gives the tokens of each text on its own.

    Returns:
        ``tokens`` is the sum over the hits taken. The passages have each of their characters once.
    """
    counts = count_tokens([hit.text for hit in hits])
    num_tokens = 0
    taken: list[ContextHit] = []
    for hit, count in zip(hits, counts, strict=True):
        if num_tokens + count <= max_tokens:
            taken.append(hit)
            num_tokens += count
    union = assemble_context(taken, max_tokens=sys.maxsize, count_tokens=_count_nothing)
    return replace(union, tokens=num_tokens)


def signature_accuracy(variant: Variant, names: Mapping[str, Sequence[NamedPart]]) -> float | None:
    """Return the share of the chunks whose model is the true name at their middle.

    Letter case does not matter. None where no document has a name.
    """
    num_named = num_right = 0
    for row, doc_id in enumerate(variant.doc_ids):
        middle = (variant.char_starts[row] + variant.char_ends[row]) // 2
        name = name_at(middle, names.get(doc_id, ()))
        if name is not None:
            num_named += 1
            num_right += (variant.models[row] or "").casefold() == name.casefold()
    return num_right / num_named if num_named else None


def _span(variant: Variant, row: int) -> HitSpan:
    return HitSpan(variant.doc_ids[row], variant.char_starts[row], variant.char_ends[row])


def _hit(variant: Variant, ranking: RankedRows, row: int) -> ContextHit:
    return ContextHit(
        variant.doc_ids[row],
        int(variant.chunk_index[row]),
        variant.char_starts[row],
        variant.char_ends[row],
        variant.texts[row],
        float(ranking.scores[row]),
    )


def _count_nothing(texts: Sequence[str]) -> list[int]:
    return [0] * len(texts)
