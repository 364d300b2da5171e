"""The endpoint that stands before the other vector databases."""

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import numpy as np
import pytest

from benchmarks.serve_endpoint import GatheringEncoder, Hit, calibrated, create_endpoint

TEXTS = [f"question {number}" for number in range(50)]


class Model:
    """Makes of a text a vector that tells its number; keeps the sizes of its calls."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.may_go = threading.Event()

    def encode(self, texts: str | list[str], *, show_progress_bar: bool) -> Any:
        assert not show_progress_bar
        self.may_go.wait(5.0)
        if isinstance(texts, str):
            return np.float32([float(texts.split()[1])])
        self.sizes.append(len(texts))
        return np.float32([[float(text.split()[1])] for text in texts])


class Rows:
    """A database that finds as many of the wanted rows as its setting says."""

    ladder: Sequence[Mapping[str, int]] = ({"finds": 5}, {"finds": 9}, {"finds": 10})

    def __init__(self) -> None:
        self._finds = 10

    def use(self, setting: Mapping[str, int]) -> None:
        self._finds = setting["finds"]

    def search(self, vector: Any, top_k: int) -> list[Hit]:
        first = int(vector[0])
        return [hit(first + row if row < self._finds else -row) for row in range(top_k)]


def hit(row: int) -> Hit:
    return Hit(
        doc_id=str(row),
        chunk_index=0,
        num_chunks=1,
        char_start=0,
        char_end=1,
        text="text",
        category="",
        model="",
        score=1.0,
    )


def test_questions_that_wait_are_encoded_together_and_not_mixed_up() -> None:
    model = Model()

    async def ask() -> list[Any]:
        encoder = GatheringEncoder(model)  # type: ignore[arg-type]
        asked = [asyncio.create_task(encoder.encode(text)) for text in TEXTS]
        await asyncio.sleep(0.02)
        model.may_go.set()
        return await asyncio.gather(*asked, encoder.encode("question 99"))

    vectors = asyncio.run(ask())
    assert [int(vector[0]) for vector in vectors] == [*range(50), 99]
    assert sum(model.sizes) == 51
    assert max(model.sizes) == 32
    assert len(model.sizes) <= 4


@pytest.mark.parametrize("gather", [False, True])
def test_endpoint_answers_with_the_nearest_of_each_question(gather: bool) -> None:
    model = Model()
    model.may_go.set()
    api = create_endpoint(model, Rows(), gather=gather)  # type: ignore[arg-type]

    async def ask() -> list[Any]:
        transport = httpx.ASGITransport(api)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            replies = [client.post("/v1/query", json={"query": t, "top_k": 3}) for t in TEXTS[:8]]
            return [reply.json() for reply in await asyncio.gather(*replies)]

    answers = asyncio.run(ask())
    ids = [[one["doc_id"] for one in answer["results"]] for answer in answers]
    assert ids == [[str(n), str(n + 1), str(n + 2)] for n in range(8)]


@pytest.mark.parametrize(
    ("least", "finds", "recall"), [(0.3, 5, 0.5), (0.9, 9, 0.9), (0.95, 10, 1.0), (1.1, 10, 1.0)]
)
def test_cheapest_setting_that_finds_enough_is_taken(
    least: float, finds: int, recall: float
) -> None:
    asked = [
        {"vector": [float(first)], "nearest": [f"{first + row}#0" for row in range(10)]}
        for first in (100, 200)
    ]
    database = Rows()
    assert calibrated(database, json.loads(json.dumps(asked)), least) == (
        {"finds": finds},
        pytest.approx(recall),
    )
