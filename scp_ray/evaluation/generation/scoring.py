"""Scores answers against reference answers, and sums them up. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, TypeAlias

from scp_ray.evaluation.bootstrap import mean_interval
from scp_ray.evaluation.generation.answering import Answered, FoundQuestion
from scp_ray.evaluation.generation.bert_score import TokenVectors, bert_score
from scp_ray.evaluation.generation.published import OwnSetup
from scp_ray.evaluation.generation.rouge_l import rouge_l
from scp_ray.evaluation.generation.token_f1 import token_f1
from scp_ray.evaluation.intervals import Interval

EncodeTokens: TypeAlias = Callable[[Sequence[str]], Sequence[TokenVectors]]

SQUAD_F1: Final = "token_f1"
ROUGE_L: Final = "rouge_l"
BERT_SCORE: Final = "bert_score"
GROUNDEDNESS: Final = "groundedness"
METRICS: Final = (SQUAD_F1, ROUGE_L, BERT_SCORE, GROUNDEDNESS)


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """An answer with its scores.

    Attributes:
        answered: What came of the question.
        scores: By the names of ``METRICS``, in [0, 1], BERTScore in [-1, 1]; a metric is missing
            where it has no value. Empty where there is no answer.
    """

    answered: Answered
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that was measured.

    Attributes:
        questions: What was asked, with the passages that were found.
        references: A reference answer for each query_id.
        scored: The answers, by question, then by number of passages.
        setup: What they come from.
        num_without_answer: Questions of the file that have no reference answer, and were left out.
    """

    questions: Sequence[FoundQuestion]
    references: Mapping[str, str]
    scored: Sequence[ScoredAnswer]
    setup: OwnSetup
    num_without_answer: int


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """Answers from one number of passages.

    Attributes:
        num_passages: How many were shown, at most.
        num_answered: Questions with an answer; the means are over these.
        num_failed: Questions without one.
        num_not_stated: Answers that say that the passages do not hold it. They have no
            groundedness; by the other metrics they count as any answer.
        num_unjudged: Sentences of which the model did not say whether they are supported.
        means: With 95 % intervals, by the names of ``METRICS``; a metric that no answer has is
            missing.
    """

    num_passages: int
    num_answered: int
    num_failed: int
    num_not_stated: int
    num_unjudged: int
    means: Mapping[str, Interval]


def score_answers(
    answered: Sequence[Answered],
    references: Mapping[str, str],
    encode_tokens: EncodeTokens | None,
) -> list[ScoredAnswer]:
    """Score answers, in the order given.

    Args:
        answered: The answers of a question follow each other.
        references: A reference answer for each query_id.
        encode_tokens: The model of BERTScore; None = without it.
    """
    scored: list[ScoredAnswer] = []
    for query_id, group in groupby(answered, key=lambda one: one.query_id):
        answers = list(group)
        texts = [references[query_id], *(one.answer or "" for one in answers)]
        vectors = encode_tokens(texts) if encode_tokens else [None] * len(texts)
        scored += [
            ScoredAnswer(one, _scores(one, references[query_id], its, vectors[0]))
            for one, its in zip(answers, vectors[1:], strict=True)
        ]
    return scored


def sum_up(scored: Sequence[ScoredAnswer]) -> list[SizeFigures]:
    """Return the figures of each number of passages, ascending."""
    sizes = sorted({one.answered.num_passages for one in scored})
    return [
        _figures(size, [one for one in scored if one.answered.num_passages == size])
        for size in sizes
    ]


def _scores(
    one: Answered, reference: str, vectors: TokenVectors | None, wanted: TokenVectors | None
) -> dict[str, float]:
    if one.answer is None:
        return {}
    scores = {
        SQUAD_F1: token_f1(one.answer, reference),
        ROUGE_L: rouge_l(one.answer, reference),
    }
    if vectors is not None and wanted is not None:
        scores[BERT_SCORE] = bert_score(vectors, wanted)
    if one.groundedness is not None:
        scores[GROUNDEDNESS] = one.groundedness
    return scores


def _figures(size: int, scored: Sequence[ScoredAnswer]) -> SizeFigures:
    values = {name: [s.scores[name] for s in scored if name in s.scores] for name in METRICS}
    answered = [one.answered for one in scored]
    return SizeFigures(
        size,
        num_answered=sum(one.answer is not None for one in answered),
        num_failed=sum(one.answer is None for one in answered),
        num_not_stated=sum(one.is_not_stated for one in answered),
        num_unjudged=sum(s.is_supported is None for one in answered for s in one.sentences),
        means={name: mean_interval(of_name) for name, of_name in values.items() if of_name},
    )
