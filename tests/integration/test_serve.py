"""The service over HTTP, on a real cluster, against the same query in this process."""

import asyncio
import random
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from ray import serve

from scp_ray.config import Settings
from scp_ray.errors import ShardUnavailableError
from scp_ray.pipeline.report import RunReport
from scp_ray.serve.launch import deploy
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.query_encoding import Encoded, encode_each, load_query_encoder
from scp_ray.serve.question_reader import QuestionReader
from scp_ray.serve.router import Reading, Router
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.serve.shard_map import spread_shards
from scp_ray.storage.keys import CURRENT
from scp_ray.storage.opening import open_store

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

Run = Callable[..., RunReport]
MakeSettings = Callable[..., Settings]
QUESTIONS = [
    "How do I clean the filter of the Orbis K-104 Kettle?",
    "Orbis K-107: which valve do I close first?",
    "press the timer and wait for the lamp",
]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


TOPOLOGIES = {
    "one group in the front": ["num_groups=1"],
    "three groups behind the proxy": ["num_groups=3", "http_server=proxy"],
    "seven groups and an encoder": ["num_groups=7", "num_encoders=1", "replicas_per_group=1"],
}


@pytest.fixture(params=TOPOLOGIES.values(), ids=TOPOLOGIES)
def service(
    request: pytest.FixtureRequest, run: Run, tmp_path: Path, small_settings: MakeSettings
) -> Iterator[httpx.Client]:
    """An index of seven shards, and a service of it."""
    request.getfixturevalue("ray_cluster")
    run("index.num_shards=7")
    serving = [*request.param, "cpus_per_replica=0.05", f"port={_free_port()}"]
    settings = small_settings(*(f"serve.{one}" for one in serving))
    address = deploy(str(tmp_path / "index"), settings)
    with httpx.Client(base_url=address, timeout=30) as client:
        yield client
    serve.shutdown()


def _many_questions() -> Iterator[dict[str, Any]]:
    """200 questions, and as many ways to ask."""
    rng = random.Random(6)
    words = "filter pump valve drain lamp cable motor panel press turn hold wait clean".split()
    for number in range(200):
        body: dict[str, Any] = {
            "query": " ".join(rng.choices([*words, f"K-{100 + number % 12}"], k=5)),
            "top_k": rng.choice([1, 5, 20]),
            "min_index_gap": rng.choice([1, 2, 4]),
            "position_weight": rng.choice([0.0, 0.02, 0.5]),
            "lexical_weight": rng.choice([0.0, 0.5, 1.0]),
            "max_context_tokens": rng.choice([0, 300]),
        }
        if number % 4 == 0:
            body["filter"] = {"doc_id": [f"manual_{number % 12:03d}.md", "manual_001.md"]}
        yield body


def _comparable(reply: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in reply.items() if key not in {"timings_ms", "coverage"}} | {
        "results": [{**row, "shard_id": None} for row in reply["results"]]
    }


def test_http_is_the_query_of_this_process(
    service: httpx.Client, run: Run, tmp_path: Path, small_settings: MakeSettings
) -> None:
    run("index.num_shards=1", index="one")
    one = LocalSearcher.open(str(tmp_path / "one"), small_settings())
    for question in _many_questions():
        body = {**question, "exact": True, "explain": True}
        response = service.post("/v1/query", json=body)
        assert response.status_code == 200, response.text
        expected = one.answer(QueryRequest.model_validate(body)).model_dump(mode="json")
        assert _comparable(response.json()) == _comparable(expected)
        assert response.json()["coverage"] == {"shards_ok": 7, "shards_total": 7, "documents": 12}
    by_shard = service.post(
        "/v1/query", json={"query": QUESTIONS[0], "prior_scope": "shard", "exact": True}
    ).json()
    seven = LocalSearcher.open(str(tmp_path / "index"), small_settings())
    request = QueryRequest(query=QUESTIONS[0], prior_scope="shard", exact=True)
    assert by_shard["results"] == seven.answer(request).model_dump(mode="json")["results"]
    _check_the_rest_of_the_interface(service)
    _check_that_lost_current_is_told(service, tmp_path / "index" / CURRENT)


def _check_the_rest_of_the_interface(service: httpx.Client) -> None:
    assert service.get("/healthz").json() == {"status": "ok"}
    assert service.get("/readyz").json() == {"status": "ready"}
    about = service.get("/v1/index").json()
    assert (about["generation"], about["documents"], about["shards"]) == (1, 12, 7)
    usual = Settings().retrieval
    assert about["defaults"]["lexical_weight"] == usual.lexical_weight
    assert about["defaults"]["position_weight"] == usual.position_weight
    paths = service.get("/openapi.json").json()["paths"]
    assert {"/v1/query", "/v1/index", "/healthz", "/readyz"} <= set(paths)
    assert service.get("/docs").status_code == 200
    filtered = service.post(
        "/v1/query", json={"query": "x", "top_k": 50, "filter": {"doc_id": "manual_004.md"}}
    ).json()
    assert {row["doc_id"] for row in filtered["results"]} == {"manual_004.md"}
    for body in (
        {},
        {"query": ""},
        {"query": "  "},
        {"query": "x", "embedding": [1.0]},
        {"query": "x", "top_k": 0},
        {"query": "x", "unknown": 1},
        {"query": "x", "filter": {"colour": "red"}},
        {"embedding": [1.0, 2.0]},
        {"query": "x" * 10_001},
    ):
        assert service.post("/v1/query", json=body).status_code == 422, body
    for raw in (
        b'{"query": "x", "lexical_weight": NaN}',
        b'{"query": "x", "lexical_weight": 1e400}',
        b'{"query": "pump \\ud800"}',
        b'{"query": "x", "filter": {"\\ud800": 1}}',
        b"{",
    ):
        reply = service.post("/v1/query", content=raw, headers={"Content-Type": "application/json"})
        assert reply.status_code == 422, raw
        assert reply.json()["detail"]
    fused = service.post(
        "/v1/query", json={"query": "K-104 pump", "max_context_tokens": 200}
    ).json()
    assert fused["lexical"]["weight"] > 0.0
    assert 0 < fused["context"]["tokens"] <= 200


def _check_that_lost_current_is_told(service: httpx.Client, current: Path) -> None:
    aside = current.rename(current.with_name("aside"))
    refused = service.post("/v1/admin/reload")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    reload = _reload_state(service, "unreadable")
    assert reload["generation"] == 1
    assert "no index here any more" in reload["reason"]
    assert service.post("/v1/query", json={"query": QUESTIONS[0]}).json()["results"]
    assert service.get("/readyz").status_code == 200
    aside.rename(current)
    assert service.post("/v1/admin/reload").status_code == 200
    _reload_state(service, "current")


def _reload_state(service: httpx.Client, state: str) -> dict[str, Any]:
    """Wait until the front has heard of it."""
    ends = time.monotonic() + 20
    while (reload := service.get("/v1/index").json()["reload"])["state"] != state:
        assert time.monotonic() < ends, reload
        time.sleep(0.05)
    return dict(reload)


class SlowGroup:
    """A group in this process that sleeps or fails in one of its calls."""

    def __init__(self, name: str, group: ShardGroup, trouble: str | None, how: str) -> None:
        self.name = name
        self.shard_ids = group.shard_ids
        self._group = group
        self._trouble = trouble
        self._how = how

    async def _call(self, method: str, *args: object) -> Any:
        if method == self._trouble:
            if self._how == "raise":
                message = "disk on fire"
                raise OSError(message)
            await asyncio.sleep(60)
        return getattr(self._group, method)(*args)

    async def first_pass(self, *args: object) -> Any:
        return await self._call("first_pass", *args)

    async def second_pass(self, *args: object) -> Any:
        return await self._call("second_pass", *args)

    async def search(self, *args: object) -> Any:
        return await self._call("search", *args)

    async def results(self, *args: object) -> Any:
        return await self._call("results", *args)


@pytest.mark.parametrize("how", ["raise", "sleep"])
@pytest.mark.parametrize("trouble", ["first_pass", "second_pass"])
def test_missing_group_is_told_and_strict_refuses(
    run: Run, tmp_path: Path, small_settings: MakeSettings, trouble: str, how: str
) -> None:
    run()
    settings = small_settings()
    manifest = LocalSearcher.open(str(tmp_path / "index"), settings).manifest
    index = str(tmp_path / "index")
    opened = [ShardGroup.open(index, manifest, [n], settings) for n in range(3)]
    encoder = load_query_encoder(manifest, settings)

    async def encode(text: str) -> Encoded:
        return encode_each(encoder, [text])[0]

    reading = Reading(encode, QuestionReader.open(open_store(index), manifest, settings))
    groups = [
        SlowGroup(f"group-{n}", group, trouble if n == 1 else None, how)
        for n, group in enumerate(opened)
    ]
    router = Router(manifest, groups, reading, settings)
    request = QueryRequest(query=QUESTIONS[0], deadline_ms=300)
    reply = asyncio.run(router.answer(request))
    assert reply.coverage.shards_ok == 2
    assert reply.coverage.documents == 12 - manifest.shards[1].num_documents
    (missing,) = reply.degraded
    assert missing.group == "group-1"
    assert missing.reason == ("OSError: disk on fire" if how == "raise" else "deadline passed")
    assert not reply.exhausted
    assert reply.results
    assert all(result.shard_id != 1 for result in reply.results)
    with pytest.raises(ShardUnavailableError, match="group-1"):
        asyncio.run(router.answer(request.model_copy(update={"strict": True})))


def test_shards_are_spread_by_size(run: Run, tmp_path: Path, small_settings: MakeSettings) -> None:
    run("index.num_shards=7")
    manifest = LocalSearcher.open(str(tmp_path / "index"), small_settings()).manifest
    groups = spread_shards(manifest, 3)
    assert sorted(shard for group in groups for shard in group) == list(range(7))
    sizes = [sum(manifest.shards[shard].size_bytes for shard in group) for group in groups]
    assert max(sizes) - min(sizes) <= max(shard.size_bytes for shard in manifest.shards)
    assert len(spread_shards(manifest, 100)) == 7
