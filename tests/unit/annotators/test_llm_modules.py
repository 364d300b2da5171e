"""One question to a language model: paid once, checked always, never without an end."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable

import pytest

from scp_ray.annotators.llm_modules import (
    Answers,
    CallLimit,
    LlmModules,
    extraction_key,
    flushed_regularly,
)
from scp_ray.errors import (
    CallLimitError,
    EngineDeadError,
    GenerationError,
    ModelUnreachableError,
    RequestRefusedError,
)
from scp_ray.protocols import GenerationRequest
from scp_ray.records import Cnm
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.testing import MemoryObjectStore, ScriptedGenerator

Answer = Callable[[GenerationRequest], str]
KETTLE = json.dumps({"category": "kettle", "nouns": ["kettle lid"], "model": "Ostra K1"})


def good(request: GenerationRequest) -> str:
    return "FALSE" if request.choices else KETTLE


def modules(
    answer: Answer, max_calls: int | None = None
) -> tuple[LlmModules, ScriptedGenerator, Answers]:
    generator = ScriptedGenerator(answer)
    cache = StoredAnnotationCache(MemoryObjectStore(), "0" * 64)
    answers = Answers(generator, cache, CallLimit(max_calls))
    return LlmModules(answers), generator, answers


CHUNK = "The lid of the Ostra K1."


def extract(one: LlmModules, chunk: str = CHUNK) -> Cnm:
    return asyncio.run(one.extract_cnm(chunk))


def test_answers_are_read_and_counted() -> None:
    one, _, _ = modules(good)
    assert extract(one) == Cnm("kettle", ("kettle lid",), "Ostra K1")
    assert not asyncio.run(one.decide_continuity("a", "b"))
    usage = one.usage
    assert (usage.decisions, usage.extractions, usage.llm_calls, usage.retries) == (1, 1, 3, 0)
    assert usage.prompt_tokens > usage.output_tokens > 0


def test_a_model_that_the_chunk_does_not_name_counts_as_absent() -> None:
    one, _, _ = modules(good)
    assert extract(one, "The lid closes.") == Cnm("kettle", ("kettle lid",), None)


@pytest.mark.parametrize("said", ["app", "Feature", "section.", "company"])
def test_a_model_that_is_no_product_counts_as_absent(said: str) -> None:
    one, generator, _ = modules(lambda request: said if request.choices else KETTLE)
    assert extract(one) == Cnm("kettle", ("kettle lid",), None)
    assert [request.content for request in generator.requests][1:] == ["Ostra K1 ->"]


def test_one_title_that_names_a_product_ends_what_went_before() -> None:
    one, generator, _ = modules(lambda request: "product" if "K1" in request.content else "feature")
    chunks = ["Dry the lid.", "\n\nOstra K1\n\nContents\n", "\n\nContents\n\nCare\n"]
    assert not asyncio.run(one.decide_continuity(*chunks[:2]))
    assert asyncio.run(one.decide_continuity(*chunks[1:]))
    assert [request.content for request in generator.requests] == [
        "Ostra K1 ->",
        "Contents ->",
        "Care ->",
    ]
    assert (one.usage.decisions, one.usage.llm_calls, one.usage.cache_hits) == (2, 3, 0)


def test_a_title_without_a_usable_answer_hides_no_other() -> None:
    one, _, _ = modules(lambda request: "product" if "K1" in request.content else "perhaps")
    chunks = ["Dry the lid.", "\n\nContents\n\nOstra K1\n", "\n\nCare\n\nLid\n"]
    assert not asyncio.run(one.decide_continuity(*chunks[:2]))
    assert asyncio.run(one.decide_continuity(*chunks[1:]))
    assert one.usage.fallbacks == 3


def test_what_stops_one_title_stops_the_decision() -> None:
    one, generator, _ = modules(lambda _request: "feature", max_calls=1)
    with pytest.raises(CallLimitError, match="max-llm-calls"):
        asyncio.run(one.decide_continuity("Dry it.", "\n\nContents\n\nCare\n"))
    assert len(generator.requests) == 1


def test_half_of_a_surrogate_pair_harms_no_other_answer() -> None:
    cache = StoredAnnotationCache(MemoryObjectStore(), "0" * 64)
    answers = Answers(ScriptedGenerator(lambda _request: "cut \ud83d"), cache, CallLimit(None))

    request = GenerationRequest("Say.", "something", max_tokens=8)
    said = asyncio.run(answers.answer(b"k" * 16, request, str, Counter()))
    assert said == "cut ?"
    cache.flush()


def test_the_same_question_is_paid_once_also_when_two_ask_at_once() -> None:
    one, generator, answers = modules(good)
    other = LlmModules(answers)

    async def ask_all() -> None:
        await asyncio.gather(*(who.extract_cnm("chunk") for who in (one, other, one, other)))

    asyncio.run(ask_all())
    assert len(generator.requests) == 1
    assert one.usage.cache_hits + other.usage.cache_hits == 3


def test_bad_answers_are_asked_for_again() -> None:
    said = iter(["no JSON", '{"category": 7}', KETTLE, "product"])
    one, _, _ = modules(lambda _request: next(said))
    assert extract(one).model == "Ostra K1"
    assert (one.usage.llm_calls, one.usage.retries, one.usage.fallbacks) == (4, 2, 0)


def test_without_a_usable_answer_a_decision_goes_on_and_a_signature_is_the_heuristic_one() -> None:
    one, generator, _ = modules(lambda _request: "I cannot say")
    assert extract(one, "# Tarn Heat 40 User Manual\n\nKeep dry.").model == "Tarn Heat 40"
    assert asyncio.run(one.decide_continuity("a", "b"))
    assert one.usage.fallbacks == 2
    asked = len(generator.requests)
    assert extract(one, "# Tarn Heat 40 User Manual\n\nKeep dry.").model == "Tarn Heat 40"
    assert len(generator.requests) == asked  # nobody pays for it a second time
    assert one.usage.fallbacks == 3


def test_a_cached_answer_that_is_none_any_more_is_asked_for_again() -> None:
    generator = ScriptedGenerator(good)
    cache = StoredAnnotationCache(MemoryObjectStore(), "0" * 64)
    cache.put(extraction_key(CHUNK), '{"category": "from an older parser"}')
    cache.flush()
    one = LlmModules(Answers(generator, cache, CallLimit(None)))
    assert extract(one).model == "Ostra K1"
    cache.flush()
    assert extract(one).model == "Ostra K1"
    assert len(generator.requests) == 2  # the signature and its name


def test_a_refused_request_falls_back_at_once() -> None:
    def refuse(_request: GenerationRequest) -> str:
        message = "too long"
        raise RequestRefusedError(message)

    one, _, _ = modules(refuse)
    assert extract(one).is_empty
    assert (one.usage.llm_calls, one.usage.fallbacks) == (1, 1)


@pytest.mark.parametrize("kind", [GenerationError, EngineDeadError])
def test_what_was_not_answered_is_raised_and_may_be_asked_again(kind: type[Exception]) -> None:
    failing = True

    def answer(_request: GenerationRequest) -> str:
        if failing:
            message = "gone"
            raise kind(message)
        return KETTLE

    one, _, _ = modules(answer)
    with pytest.raises(kind, match="gone"):
        extract(one)
    failing = False
    assert extract(one).model == "Ostra K1"


@pytest.mark.parametrize("kind", [GenerationError, RequestRefusedError])
def test_a_model_that_answers_no_request_of_a_kind_stops_the_run(kind: type[Exception]) -> None:
    def half_down(request: GenerationRequest) -> str:
        if request.choices:
            return "TRUE"
        message = "no such format"
        raise kind(message)

    one, generator, _ = modules(half_down)

    async def ask_all() -> None:
        for number in range(1000):
            await one.decide_continuity(str(number), "next")
            try:
                await one.extract_cnm(str(number))
            except ModelUnreachableError:
                raise
            except GenerationError:
                continue

    with pytest.raises(ModelUnreachableError, match=r"in a row.*no such format"):
        asyncio.run(ask_all())
    assert len(generator.requests) < 200


def test_no_more_calls_than_allowed() -> None:
    one, generator, _ = modules(good, max_calls=2)
    extract(one, "a")
    extract(one, "b")
    with pytest.raises(CallLimitError, match="max-llm-calls"):
        extract(one, "c")
    extract(one, "a")
    assert len(generator.requests) == 2


class WatchedCache(StoredAnnotationCache):
    """Tells an event loop of every flush."""

    def __init__(self, store: MemoryObjectStore) -> None:
        super().__init__(store, "0" * 64)
        self._loop, self.flushed = asyncio.get_running_loop(), asyncio.Event()

    def flush(self) -> None:
        super().flush()
        self._loop.call_soon_threadsafe(self.flushed.set)

    async def next_flush(self) -> None:
        self.flushed.clear()
        await self.flushed.wait()


def test_a_cache_is_flushed_again_and_again_until_the_block_ends() -> None:
    store, key = MemoryObjectStore(), extraction_key("chunk")

    async def ask() -> None:
        cache = WatchedCache(store)
        async with asyncio.timeout(10), flushed_regularly(cache, 0.001):
            for answer in ("first", "second"):
                cache.put(key, answer)
                await cache.next_flush()  # one may have begun before the answer came
                await cache.next_flush()
                assert StoredAnnotationCache(store, "0" * 64).get(key) == answer
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(ask())
