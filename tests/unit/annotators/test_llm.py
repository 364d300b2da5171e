"""Many documents at once over one language model."""

import json
import threading

import pytest

from scp_ray.annotators.llm import LlmAnnotator
from scp_ray.annotators.llm_modules import decision_questions
from scp_ray.errors import CallLimitError, EngineDeadError, GenerationError
from scp_ray.protocols import GenerationRequest
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.testing import MemoryObjectStore, ScriptedGenerator

FINGERPRINT = "0" * 64


def answer(request: GenerationRequest) -> str:
    """Continue unless the second passage says NEW; the model is the passage's last word."""
    if request.choices:
        return "FALSE" if "NEW" in request.content.partition("<second>")[2] else "TRUE"
    word = request.content.partition("</passage>")[0].split()[-1]
    return json.dumps({"category": None, "nouns": [], "model": word})


def annotator(
    generator: ScriptedGenerator, store: MemoryObjectStore, max_calls: int | None = None
) -> LlmAnnotator:
    return LlmAnnotator(
        lambda: generator,
        StoredAnnotationCache(store, FINGERPRINT),
        lookahead=4,
        document_fallback=True,
        max_calls=max_calls,
    )


DOCUMENTS = [
    [f"{'NEW ' if number in starts else ''}text {number} of document-{doc}" for number in range(20)]
    for doc, starts in enumerate([(), (5,), (1, 2, 19)])
]


def models(made: LlmAnnotator) -> list[list[str | None]]:
    return [[one.cnm.model for one in doc.annotations] for doc in made.annotate(DOCUMENTS)]


def test_documents_are_in_flight_together_and_each_is_folded_in_order() -> None:
    generator = ScriptedGenerator(answer, seed=3)
    made = annotator(generator, MemoryObjectStore())
    documents = made.annotate(DOCUMENTS)
    made.close()
    assert [one.usage.extractions for one in documents] == [1, 2, 4]
    assert generator.max_waiting > 4  # of one document
    assert len(generator.requests) == sum(19 + spans + 1 for spans in (1, 2, 4))  # and a name
    starts = [
        [at for at, one in enumerate(doc.annotations) if one.starts_span] for doc in documents
    ]
    assert starts == [[0], [0, 5], [0, 1, 2, 19]]


def test_a_second_annotator_pays_nothing() -> None:
    store = MemoryObjectStore()
    first = annotator(ScriptedGenerator(answer, seed=1), store)
    found = models(first)
    first.close()
    generator = ScriptedGenerator(answer)
    second = annotator(generator, store)
    assert models(second) == found
    second.close()
    assert generator.requests == []


def test_a_document_whose_requests_fail_harms_no_other() -> None:
    def failing(request: GenerationRequest) -> str:
        if "document-1" in request.content:
            message = "deadline"
            raise GenerationError(message)
        return answer(request)

    made = annotator(ScriptedGenerator(failing, seed=2), MemoryObjectStore())
    documents = made.annotate(DOCUMENTS)
    made.close()
    assert [one.failure for one in documents] == [None, "deadline", None]
    assert [len(one.annotations) for one in documents] == [20, 0, 20]


@pytest.mark.parametrize("kind", [EngineDeadError, CallLimitError])
def test_what_ends_the_run_keeps_the_answers_that_came_before(kind: type[Exception]) -> None:
    store, num_answered = MemoryObjectStore(), 0

    def dying(request: GenerationRequest) -> str:
        nonlocal num_answered
        if num_answered == 10:
            message = "no more"
            raise kind(message)
        num_answered += 1
        return answer(request)

    made = annotator(ScriptedGenerator(dying), store)
    with pytest.raises(kind, match="no more"):
        made.annotate(DOCUMENTS)
    made.close()
    generator = ScriptedGenerator(answer)
    again = annotator(generator, store)
    again.annotate(DOCUMENTS)
    again.close()
    assert len(generator.requests) == sum(19 + spans + 1 for spans in (1, 2, 4)) - 10


def test_the_limit_of_calls_is_for_all_documents_together() -> None:
    made = annotator(ScriptedGenerator(answer), MemoryObjectStore(), max_calls=30)
    with pytest.raises(CallLimitError, match="used up"):
        made.annotate(DOCUMENTS)
    made.close()


def test_calls_of_several_threads_are_in_flight_together() -> None:
    entered = threading.Barrier(3)
    generator = ScriptedGenerator(answer, seed=5)
    made = annotator(generator, MemoryObjectStore())
    results: dict[int, int] = {}

    def annotate(number: int) -> None:
        entered.wait()
        results[number] = len(made.annotate([DOCUMENTS[number]])[0].annotations)

    threads = [threading.Thread(target=annotate, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made.close()
    assert results == {0: 20, 1: 20, 2: 20}


def test_a_key_names_both_texts_and_their_border() -> None:
    pairs = [("a", "bc"), ("ab", "c"), ("bc", "a")]
    keys = {key for pair in pairs for key in decision_questions(*pair)}
    assert len(keys) == 3
    titles = [decision_questions(chunk, "\n\nLumo T2\n") for chunk in ("a", "b")]
    assert titles[0].keys() == titles[1].keys()
