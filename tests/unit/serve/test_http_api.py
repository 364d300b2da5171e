"""What the HTTP interface makes of a service's answers and errors."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scp_ray.config import Settings, load_settings
from scp_ray.errors import (
    ConfigError,
    NotReadyError,
    OverloadedError,
    ShardUnavailableError,
    TransientStorageError,
)
from scp_ray.serve.http_api import create_api
from scp_ray.serve.models import (
    CoverageModel,
    DefaultsModel,
    IndexInfo,
    LexicalModel,
    PriorModel,
    QueryReply,
    QueryRequest,
    ReloadModel,
    ReloadState,
)

ABOUT = IndexInfo(
    generation=7,
    created_at="2026-11-30T12:00:00Z",
    documents=2,
    chunks=20,
    shards=3,
    groups=1,
    encoder="hash://32",
    annotator="none",
    settings_hash="0" * 64,
    defaults=DefaultsModel.of(Settings()),
    reload=ReloadModel(state=ReloadState.CURRENT, generation=7, reason=None),
)


def _reply(generation: int) -> QueryReply:
    return QueryReply(
        generation=generation,
        results=[],
        context=None,
        prior=PriorModel(position=None, concentration=None, applied=False),
        lexical=LexicalModel(weight=0.0, known_terms=0, unknown_terms=0),
        coverage=CoverageModel(shards_ok=3, shards_total=3, documents=2),
        degraded=[],
        exhausted=True,
        timings_ms={},
        audit=None,
    )


class Service:
    """Answers with the question's ``top_k`` as generation, or as the test says by the question."""

    def __init__(self, **by_question: Callable[[], Awaitable[None]]) -> None:
        self.by_question = by_question
        self.asked: list[QueryRequest] = []
        self.cancelled = 0
        self.checks = 0
        self.trouble: Exception | None = None

    async def answer(self, request: QueryRequest) -> QueryReply:
        self.asked.append(request)
        try:
            await self.by_question.get(request.query or "", _nothing)()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return _reply(request.top_k or 0)

    async def check(self) -> None:
        self.checks += 1
        await asyncio.sleep(0)
        self._fail()

    async def reload(self) -> IndexInfo:
        self._fail()
        return ABOUT

    def about(self) -> IndexInfo:
        self._fail()
        return ABOUT

    def _fail(self) -> None:
        if self.trouble is not None:
            raise self.trouble


async def _nothing() -> None:
    pass


async def _for_ever() -> None:
    await asyncio.sleep(3600)


def _raising(error: Exception) -> Callable[[], Awaitable[None]]:
    async def fail() -> None:
        raise error

    return fail


def _api(service: Service, *assignments: str, **more: Any) -> FastAPI:
    return create_api(service, load_settings(None, assignments, {}), **more)


def _client(api: FastAPI) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(api, raise_app_exceptions=True)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost:8000")


def _call(api: FastAPI, method: str, path: str, **kwargs: Any) -> httpx.Response:
    async def main() -> httpx.Response:
        async with _client(api) as client:
            return await client.request(method, path, **kwargs)

    return asyncio.run(main())


def _ask(api: FastAPI, body: object, **kwargs: Any) -> httpx.Response:
    path = "/v1/query/batch" if isinstance(body, dict) and "queries" in body else "/v1/query"
    return _call(api, "POST", path, json=body, **kwargs)


def _problem(response: httpx.Response) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert set(problem) == {"type", "title", "status", "detail"}
    assert problem["status"] == response.status_code
    return problem


def test_answer_is_the_service_s() -> None:
    service = Service()
    response = _ask(_api(service), {"query": "how?", "top_k": 4, "explain": True})
    assert response.status_code == 200
    assert response.json() == _reply(4).model_dump(mode="json")
    assert service.asked == [QueryRequest(query="how?", top_k=4, explain=True)]


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        (None, None, None),
        (None, 30, 30),
        ("20", None, 20),
        ("20", 30, 20),
        ("40", 30, 30),
        ("600000", 600_000, 600_000),
    ],
)
def test_smaller_deadline_holds(header: str | None, body: int | None, expected: int | None) -> None:
    service = Service()
    headers = {} if header is None else {"X-Deadline-Ms": header}
    question = {"query": "how?", "deadline_ms": body}
    assert _ask(_api(service), question, headers=headers).status_code == 200
    assert _ask(_api(service), {"queries": [question]}, headers=headers).status_code == 200
    assert [request.deadline_ms for request in service.asked] == [expected, expected]


def test_deadline_that_is_no_positive_integer_is_refused() -> None:
    service = Service()
    api = _api(service)
    for header in ("0", "-5", "soon", "1.5", "", "600001", "9" * 5000, "NaN"):
        response = _ask(api, {"query": "how?"}, headers={"X-Deadline-Ms": header})
        told = "header.X-Deadline-Ms: expected a whole number of milliseconds from 1 to 600000"
        assert _problem(response)["detail"] == told
        assert response.status_code == 422
    assert service.asked == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConfigError("filter: unknown field"), 422),
        (OverloadedError("group is full"), 429),
        (NotReadyError("loading"), 503),
        (ShardUnavailableError("group-1: late"), 503),
        (ZeroDivisionError("secret"), 500),
    ],
)
def test_error_is_a_problem_alone_and_in_a_batch(error: Exception, status: int) -> None:
    api = _api(Service(bad=_raising(error)))
    alone = _ask(api, {"query": "bad"})
    problem = _problem(alone)
    assert alone.status_code == status
    assert ("secret" in problem["detail"]) is False
    assert (alone.headers.get("retry-after") == "1") is (status in {429, 503})
    questions = [{"query": "good", "top_k": 1}, {"query": "bad"}, {"query": "good", "top_k": 3}]
    batch = _ask(api, {"queries": questions})
    assert batch.status_code == 200
    first, second, third = batch.json()["items"]
    assert (first["reply"]["generation"], first["problem"]) == (1, None)
    assert (second["reply"], second["problem"]) == (None, problem)
    assert third["reply"]["generation"] == 3
    assert api.state.admission.in_flight == 0


MALFORMED: list[object] = [
    {},
    {"query": "x", "embedding": [1.0]},
    {"query": "x", "top_k": "5"},
    {"query": "x", "unknown": 1},
    {"query": "x", "lexical_weight": 2},
    {"query": "x", "prior_scope": "local", "top_k": 1.5},
    [],
    "x",
    None,
]


def test_malformed_question_of_a_batch_has_the_problem_that_it_has_alone() -> None:
    service = Service()
    api = _api(service)
    good = [{"query": "a", "top_k": 3.0}, {"query": "b", "prior_scope": "shard", "top_k": 2}]
    items = _ask(api, {"queries": [good[0], *MALFORMED, good[1]]}).json()["items"]
    assert [items[0]["reply"]["generation"], items[-1]["reply"]["generation"]] == [3, 2]
    assert [request.query for request in service.asked] == ["a", "b"]
    for question, item in zip(MALFORMED, items[1:-1], strict=True):
        body = {"content": json.dumps(question), "headers": {"Content-Type": "application/json"}}
        alone = _call(api, "POST", "/v1/query", **body)
        assert item == {"reply": None, "problem": _problem(alone)}, question
        assert item["problem"]["status"] == 422
    assert api.state.admission.in_flight == 0


def test_batch_of_nothing_but_malformed_questions_is_answered() -> None:
    items = _ask(_api(Service()), {"queries": MALFORMED}).json()["items"]
    assert [item["reply"] for item in items] == [None] * len(MALFORMED)


def test_batch_that_is_malformed_itself_is_refused() -> None:
    service = Service()
    api = _api(service)
    good, bad = {"query": "x"}, {"query": ""}
    for batch in (
        {"queries": []},
        {"queries": {"0": good}},
        {"queries": [bad, good], "more": 1},
        {"queries": [bad] * 1001},
        {"queries": None},
        {"querys": [bad]},
    ):
        response = _call(api, "POST", "/v1/query/batch", json=batch)
        assert _problem(response)["detail"].startswith("body"), batch
        assert response.status_code == 422
    assert "at most 100" in _problem(_ask(api, {"queries": [bad] * 101}))["detail"]
    assert service.asked == []


def test_questions_of_a_batch_are_asked_together() -> None:
    barrier = asyncio.Barrier(3)

    async def meet() -> None:
        async with asyncio.timeout(5):
            await barrier.wait()

    response = _ask(_api(Service(meet=meet)), {"queries": [{"query": "meet"}] * 3})
    assert [item["problem"] for item in response.json()["items"]] == [None] * 3


def test_limits_are_told() -> None:
    limits = ["serve.max_query_characters=5", "serve.max_top_k=7", "serve.max_batch=2"]
    service = Service()
    api = _api(service, *limits)
    long = "6 characters in query; at most 5 are taken"
    assert _problem(_ask(api, {"query": "x" * 6}))["detail"] == long
    assert "at most 7" in _problem(_ask(api, {"query": "x", "top_k": 8}))["detail"]
    batch = _ask(api, {"queries": [{"query": "x" * 6}, {"query": "x", "top_k": 7}]})
    first, second = batch.json()["items"]
    assert first["problem"]["detail"] == long
    assert second["reply"]["generation"] == 7
    assert len(service.asked) == 1
    assert (
        "3 questions; at most 2" in _problem(_ask(api, {"queries": [{"query": "x"}] * 3}))["detail"]
    )
    small = _api(service, "serve.max_body_bytes=100")
    assert _problem(_ask(small, {"query": "x" * 100}))["status"] == 413


def test_full_front_answers_429_and_takes_questions_again() -> None:
    entered, free = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        entered.set()
        await free.wait()

    async def main() -> None:
        api = _api(Service(wait=wait), "serve.max_in_flight=2")
        async with _client(api) as client:
            batch = {"queries": [{"query": "wait"}] * 2}
            first = asyncio.ensure_future(client.post("/v1/query/batch", json=batch))
            await entered.wait()
            assert api.state.admission.in_flight == 2
            refused = await client.post("/v1/query", json={"query": "x"})
            assert _problem(refused)["status"] == 429
            assert refused.headers["retry-after"] == "1"
            assert (await client.get("/healthz")).status_code == 200
            free.set()
            assert (await first).status_code == 200
            assert (await client.post("/v1/query", json={"query": "x"})).status_code == 200
            never = await client.post("/v1/query/batch", json={"queries": [{"query": "x"}] * 3})
            assert "at most 2 are taken" in _problem(never)["detail"]
            assert api.state.admission.in_flight == 0

    asyncio.run(main())


@pytest.mark.parametrize("path", ["/v1/query", "/v1/query/batch"])
def test_client_that_leaves_frees_its_places(path: str) -> None:
    service = Service(wait=_for_ever)
    api = _api(service)
    question = b'{"query": "wait"}'
    body = question if path == "/v1/query" else b'{"queries": [' + question + b"]}"
    messages = [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }

    async def receive() -> Message:
        if len(messages) == 1:
            for _ in range(100):
                await asyncio.sleep(0)
            assert api.state.admission.in_flight == 1
        return messages.pop(0)

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(api(scope, receive, send))
    assert service.cancelled == 1
    assert api.state.admission.in_flight == 0
    assert sent[0]["status"] == 499


SAFE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}


def test_every_answer_protects_the_browser() -> None:
    api = _api(Service(bad=_raising(ZeroDivisionError())))
    answers = [
        _ask(api, {"query": "good"}),
        _ask(api, {"query": "bad"}),
        _ask(api, {}),
        _call(api, "GET", "/v1/query"),
        _call(api, "GET", "/nothing"),
        _call(api, "GET", "/docs"),
        _call(api, "GET", "/healthz"),
        _call(api, "GET", "/v1/index", headers={"Host": "evil.example"}),
    ]
    assert [answer.status_code for answer in answers] == [200, 500, 422, 405, 404, 200, 200, 421]
    for answer in answers:
        assert answer.headers.items() >= SAFE.items()
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
    for answer in answers[1:5]:
        _problem(answer)
    assert answers[3].headers["allow"] == "POST"


@pytest.fixture
def tokens_file(tmp_path: Path) -> str:
    """Tokens ``q`` for questions and ``a`` for everything."""
    path = tmp_path / "tokens"
    lines = [
        f"{name} {scope} {hashlib.sha256(secret).hexdigest()}"
        for name, scope, secret in (("shop", "query", b"q"), ("ops", "admin", b"a"))
    ]
    path.write_text("\n".join(lines))
    return f"serve.tokens_file={path}"


QUESTION = {"json": {"query": "how?"}}
NEEDS: list[tuple[str, str, dict[str, Any], dict[str, int]]] = [
    ("POST", "/v1/query", QUESTION, {"none": 401, "wrong": 401, "q": 200, "a": 200}),
    ("POST", "/v1/query/batch", {"json": {"queries": [{"query": "x"}]}}, {"none": 401, "q": 200}),
    ("GET", "/v1/index", {}, {"none": 401, "wrong": 401, "q": 200, "a": 200}),
    ("POST", "/v1/admin/reload", {}, {"none": 401, "wrong": 401, "q": 403, "a": 200}),
    ("GET", "/healthz", {}, {"none": 200, "wrong": 200}),
    ("GET", "/readyz", {}, {"none": 200}),
    ("GET", "/docs", {}, {"none": 200}),
    ("GET", "/openapi.json", {}, {"none": 200}),
]


@pytest.mark.parametrize(("method", "path", "more", "by_token"), NEEDS)
def test_routes_ask_for_tokens(
    tokens_file: str, method: str, path: str, more: dict[str, Any], by_token: dict[str, int]
) -> None:
    service = Service()
    api = _api(service, tokens_file)
    for token, status in by_token.items():
        shown = {"Authorization": f"Bearer {token}"}
        headers = {} if token == "none" else shown  # noqa: S105
        answer = _call(api, method, path, headers={"Host": "search.example", **headers}, **more)
        assert answer.status_code == status, token
        if status in {401, 403}:
            _problem(answer)
            assert service.asked == []
        assert (answer.headers.get("www-authenticate") == "Bearer") is (status == 401)


ODD_TOKENS = [
    [b"q"],
    [b"Bearer"],
    [b"Bearer "],
    [b"Bearer\tq"],
    [b"Basic q"],
    [b"Bearer q q"],
    [b"Bearer \xff\x00"],
    [b"Bearer q", b"Bearer q"],
    [b"Bearer " + b"q" * 100_000],
]


def test_token_is_read_from_one_header_of_the_scheme(tokens_file: str) -> None:
    api = _api(Service(), tokens_file)
    for value in (b"bearer q", b"BEARER   q "):
        headers = [(b"Authorization", value)]
        assert _call(api, "GET", "/v1/index", headers=headers).status_code == 200
    for values in ODD_TOKENS:
        headers = [(b"Authorization", value) for value in values]
        assert _problem(_call(api, "GET", "/v1/index", headers=headers))["status"] == 401


def test_body_of_a_stranger_is_not_read(tokens_file: str) -> None:
    taken = []

    async def stream() -> Any:
        taken.append(1)
        yield b"{}"

    answer = _call(_api(Service(), tokens_file), "POST", "/v1/query", content=stream())
    assert answer.status_code == 401
    assert taken == []


LOOPBACK = ["localhost", "localhost:8000", "127.0.0.1:1", "127.1.2.3", "[::1]:8000"]
ELSEWHERE = [
    "evil.example",
    "localhost.evil.example:8000",
    "127.0.0.1.evil.example",
    "",
    "a@localhost",
]


def test_without_tokens_only_loopback_names_are_answered() -> None:
    api = _api(Service())
    for host in LOOPBACK:
        assert _call(api, "GET", "/v1/index", headers={"Host": host}).status_code == 200
    for host in [*ELSEWHERE, "10.0.0.1", "[::2]", "localhost:8000:1", "localhost, evil.example"]:
        assert _problem(_call(api, "GET", "/v1/index", headers={"Host": host}))["status"] == 421
    twice = [(b"Host", b"localhost"), (b"Host", b"evil.example")]
    assert _call(api, "GET", "/v1/index", headers=twice).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:9999", "file://"]
)
def test_pages_of_other_origins_are_refused(origin: str) -> None:
    service = Service()
    api = _api(service)
    headers = {"Origin": origin}
    assert _problem(_call(api, "POST", "/v1/admin/reload", headers=headers))["status"] == 403
    assert _problem(_ask(api, {"query": "how?"}, headers=headers))["status"] == 403
    own = {"Origin": "http://localhost:8000"}
    assert _ask(api, {"query": "how?"}, headers=own).status_code == 200
    for media_type in ("text/plain", "application/x-www-form-urlencoded"):
        simple = {"headers": {"Content-Type": media_type}, "content": b'{"query": "how?"}'}
        assert _problem(_call(api, "POST", "/v1/query", **simple))["status"] == 415
    assert len(service.asked) == 1


def test_readiness_and_health_follow_the_service() -> None:
    service = Service()
    api = _api(service)
    assert _call(api, "GET", "/readyz").json() == {"status": "ready"}
    assert _call(api, "GET", "/healthz").json() == {"status": "ok"}
    assert _call(api, "GET", "/v1/index").json() == ABOUT.model_dump(mode="json")
    assert _call(api, "POST", "/v1/admin/reload").json() == ABOUT.model_dump(mode="json")
    for trouble in (
        NotReadyError("loading"),
        ShardUnavailableError("late"),
        TransientStorageError(""),
    ):
        service.trouble = trouble
        for method, path in (("GET", "/readyz"), ("GET", "/healthz"), ("GET", "/v1/index")):
            assert _problem(_call(api, method, path))["status"] == 503
        assert _call(api, "POST", "/v1/admin/reload").status_code == 503


def test_front_that_ends_is_not_ready_before_it_refuses() -> None:
    async def main() -> None:
        api = _api(Service())
        async with _client(api) as client:
            ending = asyncio.ensure_future(api.state.admission.end(0.2))
            await asyncio.sleep(0)
            unready = await client.get("/readyz")
            assert _problem(unready)["detail"] == "the service is stopping"
            assert (unready.status_code, unready.headers["retry-after"]) == (503, "1")
            assert (await client.post("/v1/query", json={"query": "x"})).status_code == 200
            await ending
            for path, body in (
                ("/v1/query", {"query": "x"}),
                ("/v1/query/batch", {"queries": [{"query": "x"}]}),
            ):
                refused = await client.post(path, json=body)
                assert _problem(refused)["detail"] == "the service is stopping"
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/v1/index")).status_code == 200

    asyncio.run(main())


def test_probes_at_the_same_moment_share_a_search() -> None:
    async def main() -> int:
        service = Service()
        async with _client(_api(service)) as client:
            answers = await asyncio.gather(*(client.get("/healthz") for _ in range(50)))
            assert {answer.status_code for answer in answers} == {200}
            together = service.checks
            await client.get("/healthz")
            assert service.checks == together + 1
        return together

    assert asyncio.run(main()) < 50


def test_document_states_every_problem(tokens_file: str) -> None:
    document = _call(_api(Service(), tokens_file), "GET", "/openapi.json").json()
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    for path, methods in document["paths"].items():
        for operation in methods.values():
            expects = {"401", "403", "503"} if path.startswith("/v1/") else {"503"}
            if path.startswith("/v1/query"):
                expects |= {"408", "413", "415", "422", "429"}
            assert set(operation["responses"]) >= expects | {"200"}
            for status, answer in operation["responses"].items():
                media = {"application/json"} if status == "200" else {"application/problem+json"}
                assert set(answer["content"]) == media, (path, status)
            assert ("security" in operation) is path.startswith("/v1/")
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert (
        "examples"
        in document["paths"]["/v1/query"]["post"]["requestBody"]["content"]["application/json"]
    )
    open_document = _api(Service()).openapi()
    assert "securitySchemes" not in open_document["components"]


def test_document_has_the_limits_of_the_settings() -> None:
    limits = ["serve.max_top_k=7", "serve.max_query_characters=99", "serve.max_batch=3"]
    schemas = _api(Service(), *limits).openapi()["components"]["schemas"]
    fields = schemas["QueryRequest"]["properties"]
    assert fields["top_k"]["anyOf"][0]["maximum"] == 7
    assert fields["query"]["anyOf"][0]["maxLength"] == 99
    assert schemas["BatchRequest"]["properties"]["queries"]["maxItems"] == 3


def test_interface_page_has_its_files_and_no_inline_script() -> None:
    api = _api(Service())
    page = _call(api, "GET", "/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<script>" not in page.text
    assert "http:" not in page.text
    for name, kind, least in (
        ("swagger-ui-bundle.js", "text/javascript", 500_000),
        ("swagger-ui.css", "text/css", 50_000),
        ("favicon-32x32.png", "image/png", 100),
        ("start.js", "text/javascript", 20),
    ):
        assert f"docs/{name}" in page.text
        file = _call(api, "GET", f"/docs/{name}")
        assert file.headers["content-type"].startswith(kind)
        assert len(file.content) > least
    assert _call(api, "GET", "/docs/main.py").status_code == 404


class Outermost:
    """Notes the status of every answer."""

    def __init__(self, app: ASGIApp, seen: list[int]) -> None:
        self._app = app
        self._seen = seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._seen.append(message["status"])
            await send(message)

        await self._app(scope, receive, note)


def test_given_middleware_sees_every_answer() -> None:
    seen: list[int] = []
    api = _api(
        Service(bad=_raising(ZeroDivisionError())), middleware=[Middleware(Outermost, seen=seen)]
    )
    for query in ("good", "bad", ""):
        _ask(api, {"query": query})
    _call(api, "GET", "/v1/index", headers={"Host": "evil.example"})
    assert seen == [200, 500, 422, 421]
