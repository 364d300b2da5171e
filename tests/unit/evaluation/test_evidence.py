"""Evidence recall and precision of contexts, against figures worked out by hand."""

import pytest

from scp_ray.errors import QueriesFormatError
from scp_ray.evaluation.evidence import EvidenceOutcome, evaluate_contexts
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.retrieval.context import Context, Passage


def context(*places: tuple[str, int, int], tokens: int = 7) -> Context:
    passages = (
        Passage(doc_id, start, end, "x" * (end - start), (0,), 1.0) for doc_id, start, end in places
    )
    return Context(tokens, tuple(passages), ())


def outcome(
    spans: list[tuple[str, int, int]], places: list[tuple[str, int, int]]
) -> EvidenceOutcome:
    query = Query("q", "?", tuple(RelevantSpan(*span) for span in spans))
    (only,) = evaluate_contexts([query], {"q": context(*places)}).outcomes
    return only


@pytest.mark.parametrize(
    ("spans", "places", "recall", "precision"),
    [
        ([("a", 10, 20)], [("a", 10, 20)], 1, 1),
        ([("a", 10, 20)], [("a", 0, 40)], 1, 1 / 4),
        ([("a", 10, 20)], [("a", 13, 15)], 1 / 5, 1),
        ([("a", 10, 20)], [("a", 18, 26)], 1 / 5, 1 / 4),
        ([("a", 10, 20)], [("a", 4, 12)], 1 / 5, 1 / 4),
        ([("a", 10, 20)], [("a", 20, 30), ("a", 0, 10)], 0, 0),  # beside it
        ([("a", 10, 20)], [("a", 90, 95), ("a", 12, 14), ("a", 0, 3)], 1 / 5, 2 / 10),
        ([("a", 10, 20)], [("b", 10, 20)], 0, 0),  # another document
        ([("a", 10, 20)], [], 0, 0),
        ([("a", 10, 20)], [("a", 8, 12), ("a", 17, 21)], 1 / 2, 5 / 8),
        ([("a", 0, 10), ("b", 0, 30)], [("a", 0, 10)], 1 / 4, 1),  # spans weigh by length
        ([("a", 0, 10), ("b", 0, 30)], [("b", 0, 50), ("a", 5, 15)], 35 / 40, 35 / 60),
        ([("a", 0, 10), ("a", 5, 15)], [("a", 0, 10)], 2 / 3, 1),  # the union has 15
        ([("a", 5, 15), ("a", 0, 20), ("a", 7, 9)], [("a", 6, 16)], 1 / 2, 1),
        ([("a", 0, 10), ("a", 0, 10)], [("a", 0, 10)], 1, 1),
        ([("a", 0, 10), ("b", 5, 8), ("a", 5, 15)], [("a", 0, 15)], 15 / 18, 1),
        ([("a", 0, 10), ("a", 10, 20)], [("a", 5, 15)], 1 / 2, 1),
        ([("b", 0, 10), ("a", 5, 15)], [("a", 0, 20), ("b", 0, 5)], 15 / 20, 15 / 25),
        ([("a", 0, 4), ("a", 6, 10)], [("a", 0, 10)], 1, 8 / 10),
    ],
)
def test_recall_and_precision(
    spans: list[tuple[str, int, int]],
    places: list[tuple[str, int, int]],
    recall: float,
    precision: float,
) -> None:
    found = outcome(spans, places)
    assert (found.recall, found.precision) == pytest.approx((recall, precision))


@pytest.mark.parametrize(
    ("spans", "places", "iou", "coverage"),
    [
        ([("a", 10, 20)], [("a", 10, 20)], 1, 1),
        ([("a", 10, 20)], [("a", 0, 40)], 10 / 40, 1),
        ([("a", 10, 20)], [("a", 15, 30)], 5 / 20, 1),  # half of it is enough
        ([("a", 10, 20)], [("a", 16, 30)], 4 / 20, 0),
        ([("a", 10, 20)], [("a", 0, 13), ("a", 18, 20)], 5 / 20, 1),  # by two passages
        ([("a", 0, 1000)], [("a", 0, 100)], 1 / 10, 1),  # and so are 100 characters
        ([("a", 0, 10), ("b", 0, 30)], [("b", 0, 30), ("c", 0, 60)], 30 / 100, 1 / 2),
        ([("a", 10, 20)], [], 0, 0),
    ],
)
def test_union_and_spans(
    spans: list[tuple[str, int, int]],
    places: list[tuple[str, int, int]],
    iou: float,
    coverage: float,
) -> None:
    found = outcome(spans, places)
    assert (found.iou, found.coverage) == pytest.approx((iou, coverage))


def test_documents_and_repeated_words_are_counted() -> None:
    text = "one two three four five six seven eight"
    places = [("a", 0, len(text)), ("a", 90, 90 + len(text)), ("b", 0, len(text))]
    passages = tuple(Passage(*place, text, (0,), 1.0) for place in places)
    query = Query("q", "?", (RelevantSpan("a", 0, 10),))
    (found,) = evaluate_contexts([query], {"q": Context(24, passages, ())}).outcomes
    assert (found.num_documents, found.redundancy) == (2, pytest.approx(2 / 3))


def test_values_are_in_the_order_of_the_questions() -> None:
    queries = [
        Query("q2", "?", (RelevantSpan("a", 0, 10),)),
        Query("q1", "?", (RelevantSpan("a", 0, 1000),)),
        Query("q3", "?", (RelevantSpan("b", 0, 10),)),
    ]
    contexts = {
        "q1": context(("a", 900, 1100), tokens=60),
        "q2": context(("a", 0, 20), tokens=4),
        "q3": context(tokens=0),
    }
    report = evaluate_contexts(queries, contexts)
    assert [outcome.query_id for outcome in report.outcomes] == ["q2", "q1", "q3"]
    values = report.values()
    assert values["evidence_recall"] == pytest.approx([1, 0.1, 0])
    assert values["evidence_precision"] == pytest.approx([0.5, 0.5, 0])
    assert values["context_tokens"] == [4, 60, 0]


def test_what_cannot_be_scored_is_refused() -> None:
    span = RelevantSpan("a", 0, 10)
    with pytest.raises(QueriesFormatError, match="there is no query to evaluate"):
        evaluate_contexts([], {})
    with pytest.raises(QueriesFormatError, match="query 'q1' has no relevant span"):
        evaluate_contexts([Query("q1", "?", ())], {"q1": context()})
    with pytest.raises(ValueError, match="queries and contexts do not pair up: q1, q2"):
        evaluate_contexts([Query("q1", "?", (span,))], {"q2": context()})
