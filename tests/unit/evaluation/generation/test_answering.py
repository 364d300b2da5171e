"""Questions, their answers, and the verdicts on their sentences, over a scripted model."""

import asyncio
from collections import Counter

import pytest

from scp_ray.annotators.llm_modules import Answers, CallLimit
from scp_ray.errors import EngineDeadError, GenerationError
from scp_ray.evaluation.generation.answering import (
    Answered,
    FoundPassage,
    FoundQuestion,
    JudgedSentence,
    answer_all,
)
from scp_ray.evaluation.generation.prompting import NOT_STATED
from scp_ray.protocols import GenerationRequest
from scp_ray.testing import ScriptedGenerator


class Cache(dict[bytes, str]):
    """An ``AnnotationCache`` in memory."""

    def put(self, key: bytes, answer: str) -> None:
        self[key] = answer

    def flush(self) -> None:
        """Have nothing to write."""


def found(number: int, *texts: str) -> FoundQuestion:
    passages = tuple(FoundPassage("a.md", index, text) for index, text in enumerate(texts))
    return FoundQuestion(f"q{number}", f"Question {number}?", passages)


QUESTIONS = [found(1, "Wait an hour.", "Rinse it."), found(2, "Press it.", "Hold it.", "Stop.")]


def scripted(request: GenerationRequest) -> str:
    """Answer with a sentence a passage; the second of them is never supported."""
    passages = request.content.count("<passage>")
    if request.choices:
        return "NO" if "Sentence 2" in request.content else "YES"
    return " ".join(f"Sentence {number} of it." for number in range(1, passages + 1))


def ask(
    generator: ScriptedGenerator, cache: Cache | None = None, counts: Counter[str] | None = None
) -> list[Answered]:
    source = Answers(generator, Cache() if cache is None else cache, CallLimit(None))
    tally = Counter[str]() if counts is None else counts
    return asyncio.run(answer_all(source, QUESTIONS, (1, 3), tally, lambda _done: None))


def test_every_question_is_asked_at_every_size_and_its_sentences_are_judged() -> None:
    answered = ask(ScriptedGenerator(scripted, seed=3))
    assert [(one.query_id, one.num_passages) for one in answered] == [
        ("q1", 1),
        ("q1", 3),
        ("q2", 1),
        ("q2", 3),
    ]
    assert answered[1].sentences == (
        JudgedSentence("Sentence 1 of it.", is_supported=True),
        JudgedSentence("Sentence 2 of it.", is_supported=False),
    )
    assert [one.groundedness for one in answered] == [1.0, 0.5, 1.0, pytest.approx(2 / 3)]


def test_questions_wait_together() -> None:
    generator = ScriptedGenerator(scripted, seed=3)
    ask(generator)
    assert generator.max_waiting > 1


def test_a_second_run_asks_nothing() -> None:
    cache, again = Cache(), ScriptedGenerator(scripted)
    first = ask(ScriptedGenerator(scripted), cache)
    counts = Counter[str]()
    assert ask(again, cache, counts) == first
    assert again.requests == []
    assert counts["cache_hits"] == 11  # 4 answers, 7 sentences


def test_an_answer_that_is_not_stated_is_not_judged() -> None:
    answered = ask(ScriptedGenerator(lambda _request: NOT_STATED))
    assert all(one.is_not_stated and one.sentences == () for one in answered)
    assert [one.groundedness for one in answered] == [None] * 4


def test_a_request_without_an_answer_fails_its_question_alone() -> None:
    def answer(request: GenerationRequest) -> str:
        if "Press it." in request.content and "Stop." not in request.content:
            message = "no answer in time"
            raise GenerationError(message)
        return scripted(request)

    answered = ask(ScriptedGenerator(answer))
    assert [one.failure for one in answered] == [None, None, "no answer in time", None]
    assert answered[2].groundedness is None


def test_an_answer_that_cannot_be_used_fails_its_question() -> None:
    answered = ask(ScriptedGenerator(lambda _request: " "))
    assert {one.failure for one in answered} == {"the model gave no answer that can be used"}


def test_a_verdict_that_cannot_be_used_leaves_its_sentence_unjudged() -> None:
    def answer(request: GenerationRequest) -> str:
        unclear = request.choices and "Sentence 1" in request.content
        return "Perhaps" if unclear else scripted(request)

    answered = ask(ScriptedGenerator(answer))
    assert [s.is_supported for s in answered[3].sentences] == [None, False, True]
    assert answered[3].groundedness == 0.5


def test_a_verdict_that_does_not_come_leaves_its_sentence_unjudged() -> None:
    def answer(request: GenerationRequest) -> str:
        if request.choices:
            message = "no answer in time"
            raise GenerationError(message)
        return scripted(request)

    assert {s.is_supported for one in ask(ScriptedGenerator(answer)) for s in one.sentences} == {
        None
    }


@pytest.mark.parametrize("at_verdict", [False, True])
def test_an_engine_that_has_ended_ends_the_run(at_verdict: bool) -> None:
    def answer(request: GenerationRequest) -> str:
        if bool(request.choices) is at_verdict:
            message = "the engine has ended"
            raise EngineDeadError(message)
        return scripted(request)

    with pytest.raises(EngineDeadError, match="has ended"):
        ask(ScriptedGenerator(answer))


def test_after_a_fault_only_the_rest_is_asked() -> None:
    cache, num_left = Cache(), 5

    def mortal(request: GenerationRequest) -> str:
        nonlocal num_left
        if not num_left:
            message = "the engine has ended"
            raise EngineDeadError(message)
        num_left -= 1
        return scripted(request)

    with pytest.raises(EngineDeadError, match="has ended"):
        ask(ScriptedGenerator(mortal), cache)
    again = ScriptedGenerator(scripted)
    assert ask(again, cache) == ask(ScriptedGenerator(scripted))
    assert len(again.requests) == 11 - 5
