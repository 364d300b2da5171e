"""Measured answers, made by hand."""

import pytest

from scp_ray.evaluation.generation.answering import (
    Answered,
    FoundPassage,
    FoundQuestion,
    JudgedSentence,
)
from scp_ray.evaluation.generation.published import BertSetup, OwnSetup
from scp_ray.evaluation.generation.scoring import Measured, score_answers


@pytest.fixture
def answered() -> list[Answered]:
    """Two questions at two sizes: right, half right, failed, and not stated."""
    good = (JudgedSentence("Wait an hour.", is_supported=True),)
    mixed = (*good, JudgedSentence("Then go.", is_supported=False), JudgedSentence("x", None))
    return [
        Answered("q1", 1, "Wait an hour.", good),
        Answered("q1", 3, "Wait an hour. Then go. x", mixed),
        Answered("q2", 1, None, failure="no answer in time"),
        Answered("q2", 3, "The passages do not say."),
    ]


@pytest.fixture
def measured(answered: list[Answered]) -> Measured:
    """The same, scored without BERTScore."""
    passages = tuple(FoundPassage("a.md", index, f"text {index}") for index in range(3))
    references = {"q1": "Wait an hour.", "q2": "Press <it>."}
    return Measured(
        [FoundQuestion("q1", "How long?", passages), FoundQuestion("q2", "What now?", passages)],
        references,
        score_answers(answered, references, None),
        OwnSetup("queries.jsonl", "qwen", "MiniLM", 200, 50, BertSetup("MiniLM", 6, True, 2)),
        num_without_answer=5,
    )
