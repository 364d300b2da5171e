"""Scripted answers for CHOP's ports, and for a language model."""

import asyncio

import pytest

from scp_ray.errors import AnnotationError
from scp_ray.protocols import GenerationRequest
from scp_ray.records import EMPTY_CNM, Cnm
from scp_ray.testing import ScriptedDecider, ScriptedExtractor, ScriptedGenerator


def test_extractor_answers_by_text_and_records_calls() -> None:
    pump = Cnm("pump", ("seal",), "P-1")
    extractor = ScriptedExtractor({"a": pump, "b": EMPTY_CNM})
    assert [asyncio.run(extractor.extract_cnm(chunk)) for chunk in "aba"] == [pump, EMPTY_CNM, pump]
    assert extractor.calls == ["a", "b", "a"]


def test_extractor_fails_where_nothing_is_scripted() -> None:
    extractor = ScriptedExtractor({})
    with pytest.raises(AnnotationError, match=r"no signature is scripted for 'x{60}'"):
        asyncio.run(extractor.extract_cnm("x" * 100))
    assert extractor.calls == ["x" * 100]


def test_decider_answers_by_pair_and_records_calls() -> None:
    decider = ScriptedDecider({("a", "b"): True, ("b", "a"): False})
    assert asyncio.run(decider.decide_continuity("a", "b"))
    assert not asyncio.run(decider.decide_continuity("b", "a"))
    assert decider.calls == [("a", "b"), ("b", "a")]


def test_decider_fails_where_nothing_is_scripted() -> None:
    decider = ScriptedDecider({("a", "b"): True})
    with pytest.raises(AnnotationError, match="no decision is scripted for 'b' and 'a'"):
        asyncio.run(decider.decide_continuity("b", "a"))


def test_later_changes_of_the_script_do_not_count() -> None:
    script = {"a": EMPTY_CNM}
    extractor = ScriptedExtractor(script)
    script.clear()
    assert asyncio.run(extractor.extract_cnm("a")) == EMPTY_CNM


def test_generator_answers_in_any_order_and_counts_who_waits() -> None:
    generator = ScriptedGenerator(lambda request: request.content.upper(), seed=0)
    order: list[str] = []

    async def ask(content: str) -> None:
        answer = await generator.generate(GenerationRequest("say", content, 9))
        order.append(answer.text)
        assert (answer.prompt_tokens, answer.output_tokens) == (2, 1)

    async def ask_all() -> None:
        await asyncio.gather(*(ask(content) for content in "abcdefgh"))

    asyncio.run(ask_all())
    assert sorted(order) == list("ABCDEFGH")
    assert order != sorted(order)
    assert [request.content for request in generator.requests] == list("abcdefgh")
    assert generator.max_waiting == 8
