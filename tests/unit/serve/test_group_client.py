"""Whatever a group answers, a front takes chunks of that group or nothing."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.errors import ShardUnavailableError
from scp_ray.records import ChunkKey, Decision, DecisionReason, ScoredChunk, Selection
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.two_pass import QueryOutcome
from scp_ray.serve.group_calls import GroupCall, Step
from scp_ray.serve.group_client import CallingClient
from scp_ray.serve.models import CnmModel, ResultModel
from scp_ray.storage.keys import generation_folder
from scp_ray.storage.publish import GenerationEntry

ENTRY = GenerationEntry(
    generation=3, manifest=generation_folder(3, "") + "/manifest.json", manifest_sha256="0" * 64
)
HIT = ScoredChunk(ChunkKey("a.md", 1), 0.5, 0.8, 0.8, 0.0, 0.0, 7, 2)
FOREIGN = dataclasses.replace(HIT, shard_id=4)
SELECTION = Selection((Decision(HIT, DecisionReason.KEPT),), exhausted=False, ranking=(HIT,))
OUTCOME = QueryOutcome([HIT], None, prior_applied=False, selection=SELECTION)
RESULT = ResultModel(
    doc_id="a.md",
    chunk_index=1,
    num_chunks=3,
    char_start=0,
    char_end=4,
    text="pump",
    score=0.8,
    semantic_score=0.8,
    lexical_score=0.0,
    position_score=0.0,
    rerank_score=None,
    position=0.5,
    cnm=CnmModel(category="", nouns=[], model=""),
    source_uri="a.md",
    metadata={},
    shard_id=2,
)
PARAMS = Settings().query_params()
VECTOR = np.zeros(4, dtype=np.float32)

Ask = Callable[[CallingClient], Awaitable[Any]]
ASKED: dict[Step, tuple[Ask, object]] = {
    Step.FIRST_PASS: (lambda client: client.first_pass(VECTOR, PARAMS, None), [HIT]),
    Step.SECOND_PASS: (
        lambda client: client.second_pass(Question(VECTOR), None, PARAMS, None),
        SELECTION,
    ),
    Step.SEARCH: (lambda client: client.search(Question(VECTOR), PARAMS, None), OUTCOME),
    Step.RESULTS: (lambda client: client.results([HIT]), {HIT.key: RESULT}),
    Step.TEXTS: (lambda client: client.texts([HIT]), {HIT.key: "pump"}),
}
OTHERS_KEY = ChunkKey("b.md", 0)


def _with_candidate(candidate: Any, reason: DecisionReason = DecisionReason.KEPT) -> Selection:
    return Selection((Decision(candidate, reason),), exhausted=False)


def _found(**changes: Any) -> QueryOutcome:
    return dataclasses.replace(OUTCOME, **changes)


ODD_CHUNKS = [
    FOREIGN,
    None,
    "chunk",
    dataclasses.replace(HIT, score=float("nan")),
    dataclasses.replace(HIT, score=None),  # type: ignore[arg-type]
    dataclasses.replace(HIT, position=float("inf")),
    dataclasses.replace(HIT, key=("a.md", 1)),  # type: ignore[arg-type]
]
GARBAGE: dict[Step, list[object]] = {
    Step.FIRST_PASS: [[HIT, odd] for odd in ODD_CHUNKS],
    Step.SECOND_PASS: [
        *(_with_candidate(odd) for odd in ODD_CHUNKS),
        _with_candidate(FOREIGN, DecisionReason.TOO_NEAR),
        *(dataclasses.replace(SELECTION, ranking=(odd,)) for odd in ODD_CHUNKS),
        dataclasses.replace(SELECTION, decisions=None),
        dataclasses.replace(SELECTION, decisions=("kept",)),
        dataclasses.replace(SELECTION, ranking=None),
    ],
    Step.SEARCH: [
        *(_found(first_pass=[odd]) for odd in ODD_CHUNKS),
        *(_found(selection=_with_candidate(odd)) for odd in ODD_CHUNKS),
        _found(selection=dataclasses.replace(SELECTION, ranking=(FOREIGN,))),
        _found(selection=None),
        _found(first_pass=None),
    ],
    Step.RESULTS: [{HIT.key: "pump"}, {HIT.key: None}, {OTHERS_KEY: RESULT}, {"a.md": RESULT}],
    Step.TEXTS: [{HIT.key: b"pump"}, {HIT.key: None}, {OTHERS_KEY: "pump"}],
}
ANYTHING: list[object] = [None, 1, "hits", b"", object(), ValueError("x"), {1: 2}, [1], (HIT,)]


def _client(answer: object, calls: list[GroupCall] | None = None) -> CallingClient:
    async def ask(call: GroupCall) -> object:
        if calls is not None:
            calls.append(call)
        return answer

    return CallingClient("group-1", frozenset({1, 2}), ENTRY, ask)


@pytest.mark.parametrize("step", ASKED)
def test_a_call_names_generation_and_step_and_its_answer_comes_back(step: Step) -> None:
    (ask, answer), calls = ASKED[step], []
    given = asyncio.run(_awaited(ask(_client(answer, calls))))
    assert given is answer or given == answer
    ((generation, asked_step),) = [(call.generation, call.step) for call in calls]
    assert (generation, asked_step) == (ENTRY, step)


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


@pytest.mark.parametrize(
    ("step", "number"), [(step, number) for step in ASKED for number in range(len(GARBAGE[step]))]
)
def test_an_answer_with_something_strange_in_it_is_refused(step: Step, number: int) -> None:
    ask, _ = ASKED[step]
    with pytest.raises(ShardUnavailableError, match="an answer holds"):
        asyncio.run(_awaited(ask(_client(GARBAGE[step][number]))))


@pytest.mark.parametrize("step", ASKED)
@pytest.mark.parametrize("answer", ANYTHING, ids=repr)
def test_an_answer_of_another_kind_is_refused(step: Step, answer: object) -> None:
    ask, _ = ASKED[step]
    with pytest.raises(ShardUnavailableError, match=r"gave|an answer holds"):
        asyncio.run(_awaited(ask(_client(answer))))


def test_a_group_may_know_nothing_of_a_chunk() -> None:
    assert asyncio.run(_awaited(_client({}).results([HIT]))) == {}
    assert asyncio.run(_awaited(_client([]).first_pass(VECTOR, PARAMS, None))) == []
