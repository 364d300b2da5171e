"""One cell over a few questions."""

from collections.abc import Callable, Sequence

import pytest

from scp_ray.embedding.hash_encoder import HashEncoder, WordTokenizer
from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.measure import (
    RememberedCounts,
    answer_question,
    measure_cell,
    signature_accuracy,
    whole_context,
)
from scp_ray.evaluation.ablation.scoring import ScoredVariant
from scp_ray.evaluation.ablation.signatures import NamedPart
from scp_ray.evaluation.ablation.variant import Variant
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.retrieval.context import ContextHit

DOCUMENTS = {"a": ["the pump leaks. ", "turn the valve. ", "press the lamp. "]}
QUERIES = [Query("q", "turn the valve", (RelevantSpan("a", 16, 32),))]


@pytest.fixture
def scored(variant: Callable[..., Variant]) -> ScoredVariant:
    made, encoder = variant(DOCUMENTS), HashEncoder()
    questions = [query.query for query in QUERIES]
    vectors = encoder.encode(made.embedding_texts)
    return ScoredVariant(made, vectors, questions, encoder.encode_query(questions))


def test_metrics_of_ranking_and_context_stand_side_by_side(
    scored: ScoredVariant, setting: Callable[..., CellSetting]
) -> None:
    values = measure_cell(
        scored, QUERIES, setting(budget_tokens=4), RememberedCounts(WordTokenizer())
    )
    assert values["hit@1"] == [1.0]
    assert values["evidence_recall"] == [1.0]
    assert values["context_tokens"] == [4.0]


def test_a_cell_has_as_many_results_as_asked_and_more_in_its_context(
    scored: ScoredVariant, setting: Callable[..., CellSetting]
) -> None:
    count = RememberedCounts(WordTokenizer())
    answer = answer_question(scored, 0, setting(top_k=1, min_index_gap=1), count)
    assert [hit.char_start for hit in answer.hits] == [16]
    [passage] = answer.context.passages
    assert passage.chunk_indexes == (0, 1, 2)
    whole = answer_question(scored, 0, setting(top_k=1, budget_tokens=0), count)
    assert [passage.chunk_indexes for passage in whole.context.passages] == [(1,)]


def test_plain_results_pay_for_text_that_repeats() -> None:
    hits = [
        ContextHit("a", 0, 0, 10, "one two th", 1.0),
        ContextHit("a", 1, 4, 13, "two three", 0.9),
        ContextHit("a", 5, 20, 44, "four five six seven eigh", 0.8),
    ]
    tokenizer = WordTokenizer()
    context = whole_context(hits, max_tokens=6, count_tokens=tokenizer.count_tokens)
    assert context.tokens == 5
    assert [(one.char_start, one.char_end) for one in context.passages] == [(0, 13)]


def test_tokens_of_a_text_are_counted_once() -> None:
    asked: list[str] = []

    class Tokenizer(WordTokenizer):
        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            asked.extend(texts)
            return super().count_tokens(texts)

    count = RememberedCounts(Tokenizer())
    assert count(["a b", "c"]) == count(["a b", "c"]) == [2, 1]
    assert asked == ["a b", "c"]


def test_accuracy_is_of_the_chunks_that_have_a_true_name(
    variant: Callable[..., Variant],
) -> None:
    made = variant({"a": ["x" * 10] * 4}, ["RXC-1", "rxc-2", None, "RXC-1"])
    names = {"a": [NamedPart(0, 10, "RXC-1"), NamedPart(10, 30, "RXC-2")]}
    assert signature_accuracy(made, names) == pytest.approx(2 / 3)
    assert signature_accuracy(made, {}) is None
