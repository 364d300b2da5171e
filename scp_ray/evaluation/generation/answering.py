"""Asks a language model questions with their passages, and whether those support its answers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from scp_ray.chop.together import all_together
from scp_ray.errors import EngineDeadError, GenerationError, ModelUnreachableError
from scp_ray.evaluation.baselines.sentences import sentence_spans
from scp_ray.evaluation.generation.prompting import (
    answer_request,
    is_not_stated,
    parse_answer,
    parse_support,
    request_key,
    support_request,
)
from scp_ray.protocols import GenerationRequest

_Answer = TypeVar("_Answer")
_NO_ANSWER = "the model gave no answer that can be used"


class AnswerSource(Protocol):
    """Answers of a language model, each paid for once. Belongs to one event loop."""

    async def answer(
        self,
        key: bytes,
        request: GenerationRequest,
        parse: Callable[[str], _Answer],
        counts: Counter[str],
    ) -> _Answer | None:
        """Return a usable answer, None if the model gives none.

        Raises:
            GenerationError: If the model does not answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A result of an index, as a language model is shown it."""

    doc_id: str
    chunk_index: int
    text: str


@dataclass(frozen=True, slots=True)
class FoundQuestion:
    """A question and what an index found for it, best first."""

    query_id: str
    question: str
    passages: tuple[FoundPassage, ...]


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A sentence of an answer.

    Attributes:
        text: The sentence.
        is_supported: Whether the passages support it; None where the model did not say.
    """

    text: str
    is_supported: bool | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of one question at one number of passages.

    Attributes:
        query_id: The question.
        num_passages: How many of the found passages were shown, at most.
        answer: The answer; None where there is none.
        sentences: Of the answer; empty where it says that the passages do not hold it.
        failure: Why there is no answer; None when there is one.
    """

    query_id: str
    num_passages: int
    answer: str | None
    sentences: tuple[JudgedSentence, ...] = ()
    failure: str | None = None

    @property
    def is_not_stated(self) -> bool:
        """Whether the answer says that the passages do not hold it."""
        return self.answer is not None and is_not_stated(self.answer)

    @property
    def groundedness(self) -> float | None:
        """Share of the judged sentences that are supported; None where none was judged."""
        verdicts = [one.is_supported for one in self.sentences if one.is_supported is not None]
        return sum(verdicts) / len(verdicts) if verdicts else None


async def answer_all(
    source: AnswerSource,
    questions: Sequence[FoundQuestion],
    sizes: Sequence[int],
    counts: Counter[str],
    progress: Callable[[int], None],
) -> list[Answered]:
    """Ask every question with so many of its first passages, all questions at once.

    A request that is not answered fails its question at that size, and no other.

    Args:
        source: The model; it bounds how many requests wait at once.
        questions: What to ask.
        sizes: Numbers of passages, ascending; a question is asked in this order.
        counts: Counts what was taken, by the names of ``AnnotationUsage``.
        progress: Told how many questions are done, after each.

    Returns:
        By question in the order given, then by size.

    Raises:
        EngineDeadError, ModelUnreachableError, CallLimitError: If no question will be answered
            any more.
    """
    num_done = 0

    async def ask(question: FoundQuestion) -> list[Answered]:
        nonlocal num_done
        answered = [await _answered(source, question, size, counts) for size in sizes]
        num_done += 1
        progress(num_done)
        return answered

    return [one for answered in await all_together(map(ask, questions)) for one in answered]


async def _answered(
    source: AnswerSource, question: FoundQuestion, size: int, counts: Counter[str]
) -> Answered:
    passages = [passage.text for passage in question.passages[:size]]
    request = answer_request(question.question, passages)
    try:
        answer = await source.answer(request_key(request), request, parse_answer, counts)
    except (EngineDeadError, ModelUnreachableError):
        raise
    except GenerationError as error:
        return Answered(question.query_id, size, None, failure=str(error))
    if answer is None:
        return Answered(question.query_id, size, None, failure=_NO_ANSWER)
    if is_not_stated(answer):
        return Answered(question.query_id, size, answer)
    shown = [answer[start:end] for start, end in sentence_spans(answer)]
    judged = await all_together(_judged(source, sentence, passages, counts) for sentence in shown)
    return Answered(question.query_id, size, answer, tuple(judged))


async def _judged(
    source: AnswerSource, sentence: str, passages: Sequence[str], counts: Counter[str]
) -> JudgedSentence:
    request = support_request(sentence, passages)
    try:
        verdict = await source.answer(request_key(request), request, parse_support, counts)
    except (EngineDeadError, ModelUnreachableError):
        raise
    except GenerationError:
        verdict = None
    return JudgedSentence(sentence, verdict)
