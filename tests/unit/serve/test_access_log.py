"""The access log: its fields, its statuses, and what cannot be forged."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.serve.access_log import JsonLines, RequestLog, start_logging
from scp_ray.serve.metrics import NoMetrics

Message = MutableMapping[str, Any]
App = Callable[..., Awaitable[None]]
VAULT = "how-do-I-open-the-vault"


class Requests(NoMetrics):
    """Keeps the requests that are counted."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []

    def request_done(self, route: str, status: int, seconds: float) -> None:
        assert 0.0 <= seconds < 60.0
        self.done.append((route, status))


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[dict[str, Any]]]:
    """Return the lines of the access log so far."""
    caplog.set_level(logging.INFO, "scp_ray.access")
    formatter = JsonLines()
    return lambda: [json.loads(formatter.format(record)) for record in caplog.records]


def _api() -> FastAPI:
    api = FastAPI()

    @api.post("/v1/query")
    async def query(request: Request) -> dict[str, int]:
        await request.body()
        request.state.token_name = "shop"  # noqa: S105 - the name of one
        request.state.generation = 7
        return {"generation": 7}

    @api.get("/v1/documents/{name}")
    async def document(name: str) -> dict[str, str]:
        return {"name": name}

    @api.get("/broken")
    async def broken() -> None:
        message = VAULT
        raise OSError(message)

    @api.get("/stream")
    async def stream() -> StreamingResponse:
        async def parts() -> Any:
            for _ in range(3):
                yield b"ten bytes."

        return StreamingResponse(parts())

    return api


async def _ask(app: App, *requests: tuple[str, str], **more: Any) -> list[httpx.Response]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=("10.0.0.7", 5000))
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        return [await client.request(method, path, **more) for method, path in requests]


def _scope(path: str = "/", **more: Any) -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": path, "headers": [], **more}


async def _receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _gone() -> Message:
    return {"type": "http.disconnect"}


async def _send(_message: Message) -> None:
    return None


def test_line_says_what_was_asked_and_what_came_of_it(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    metrics = Requests()
    body = {"query": VAULT}
    (response,) = asyncio.run(
        _ask(
            RequestLog(_api(), metrics),
            ("POST", f"/v1/query?q={VAULT}"),
            json=body,
            headers={"X-Request-Id": "req-1"},
        )
    )
    assert response.headers["x-request-id"] == "req-1"
    (line,) = lines()
    assert 0.0 < line.pop("ms") < 60_000.0
    assert len(line.pop("time")) == len("2026-11-30T12:00:00.000Z")
    assert line == {
        "level": "INFO",
        "logger": "scp_ray.access",
        "message": "request",
        "method": "POST",
        "route": "/v1/query",
        "status": 200,
        "bytes": len(response.content),
        "client": "10.0.0.7",
        "request_id": "req-1",
        "token": "shop",
        "generation": 7,
        "trace_id": None,
    }
    assert metrics.done == [("/v1/query", 200)]


def test_routes_are_templates(lines: Callable[[], list[dict[str, Any]]]) -> None:
    metrics = Requests()
    asked = [("GET", f"/v1/documents/{number}") for number in range(20)]
    asked += [("GET", f"/{VAULT}"), ("DELETE", "/v1/documents/1"), ("GET", "/stream")]
    asyncio.run(_ask(RequestLog(_api(), metrics), *asked))
    assert metrics.done == [
        *[("/v1/documents/{name}", 200)] * 20,
        ("unmatched", 404),
        ("/v1/documents/{name}", 405),
        ("/stream", 200),
    ]
    assert lines()[-1]["bytes"] == 30
    assert VAULT not in json.dumps(lines())


def test_error_of_the_application_is_500_without_its_words(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    metrics = Requests()
    asyncio.run(_ask(RequestLog(_api(), metrics), ("GET", "/broken")))
    assert metrics.done == [("/broken", 500)]
    assert VAULT not in json.dumps(lines())


def test_client_that_went_away_is_499(lines: Callable[[], list[dict[str, Any]]]) -> None:
    metrics = Requests()
    start = {"type": "http.response.start", "status": 200, "headers": []}

    async def noticed(_scope: Any, receive: App, send: App) -> None:
        assert (await receive())["type"] == "http.disconnect"

    async def cancelled(_scope: Any, _receive: App, _send: App) -> None:
        raise asyncio.CancelledError

    async def half_sent(_scope: Any, receive: App, send: App) -> None:
        await send(start)
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        await receive()

    async def broken_pipe(_scope: Any, _receive: App, send: App) -> None:
        await send(start)

    async def refuse(_message: Message) -> None:
        raise BrokenPipeError

    async def serve_all() -> None:
        await RequestLog(noticed, metrics)(_scope(), _gone, _send)
        with pytest.raises(asyncio.CancelledError, match="^$"):
            await RequestLog(cancelled, metrics)(_scope(), _receive, _send)
        await RequestLog(half_sent, metrics)(_scope(), _gone, _send)
        with pytest.raises(BrokenPipeError, match="^$"):
            await RequestLog(broken_pipe, metrics)(_scope(), _receive, refuse)

    asyncio.run(serve_all())
    assert metrics.done == [("unmatched", 499)] * 4
    assert [line["bytes"] for line in lines()] == [0, 0, 4, 0]


def test_client_that_leaves_after_the_reply_has_its_status() -> None:
    metrics = Requests()

    async def replies(_scope: Any, receive: App, send: App) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        await receive()
        raise asyncio.CancelledError

    async def ask() -> None:
        with pytest.raises(asyncio.CancelledError, match="^$"):
            await RequestLog(replies, metrics)(_scope(), _gone, _send)

    asyncio.run(ask())
    assert metrics.done == [("unmatched", 201)]


def test_missing_id_is_made_and_each_request_has_its_own() -> None:
    async def replies(scope: Any, _receive: App, send: App) -> None:
        own = [(b"X-Request-Id", b"of the application"), (b"a", scope["state"]["request_id"])]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body", "body": b""})

    sent: list[Message] = []

    async def keep(message: Message) -> None:
        sent.append(message)

    async def ask() -> None:
        for _ in range(2):
            await RequestLog(replies, NoMetrics())(_scope(), _receive, keep)

    asyncio.run(ask())
    replied = [dict(message["headers"]) for message in sent if "headers" in message]
    assert all(set(headers) == {b"a", b"x-request-id"} for headers in replied)
    assert all(headers[b"a"].encode() == headers[b"x-request-id"] for headers in replied)
    assert len({headers[b"x-request-id"] for headers in replied}) == 2


@given(st.binary(max_size=200) | st.text(max_size=140).map(lambda text: text.encode("utf-8")))
def test_no_header_forges_a_line_or_a_response(given_id: bytes) -> None:
    sent: list[Message] = []
    logged: list[str] = []
    handler = logging.Handler()
    handler.setFormatter(JsonLines())
    handler.emit = lambda record: logged.append(handler.format(record))  # type: ignore[method-assign]

    async def replies(_scope: Any, _receive: App, send: App) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def keep(message: Message) -> None:
        sent.append(message)

    name = given_id.decode("latin-1")
    scope = _scope(headers=[(b"x-request-id", given_id)], client=(name, 1), method=name)
    scope["state"] = {"token_name": name}
    logger = logging.getLogger("scp_ray.access")
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        asyncio.run(RequestLog(replies, NoMetrics())(scope, _receive, keep))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    (line,) = logged
    assert line.isprintable()
    assert line.isascii()
    fields = json.loads(line)
    assert (fields["token"], fields["client"], fields["status"]) == (name, name, 200)
    ((_, returned),) = sent[0]["headers"]
    assert fields["request_id"] == returned.decode()
    assert returned == given_id or len(returned) == 32
    assert returned.isalnum() or not set(returned) & set(b' \r\n\0"<>\\,;')


def test_other_than_http_passes_through() -> None:
    passed = []

    async def app(scope: Any, _receive: App, _send: App) -> None:
        passed.append(scope)

    metrics = Requests()
    asyncio.run(RequestLog(app, metrics)({"type": "lifespan"}, _receive, _send))
    assert passed == [{"type": "lifespan"}]
    assert metrics.done == []


@pytest.fixture
def fresh_logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("scp_ray")
    before = (logger.handlers[:], logger.level, logger.propagate)
    yield logger
    logger.handlers[:], level, logger.propagate = before
    logger.setLevel(level)


def test_logging_is_started_once(fresh_logger: logging.Logger) -> None:
    num_before = len(fresh_logger.handlers)
    for _ in range(3):
        start_logging()
    assert len(fresh_logger.handlers) == num_before + 1
    assert not fresh_logger.propagate
    assert logging.getLogger("scp_ray.access").isEnabledFor(logging.INFO)
    assert not logging.getLogger("scp_ray.access").isEnabledFor(logging.DEBUG)


def test_exception_is_in_its_line() -> None:
    error = ValueError("first\nsecond")
    record = logging.LogRecord(
        "scp_ray.serve", logging.ERROR, "", 0, "%s", ("a\nb",), (ValueError, error, None)
    )
    text = JsonLines().format(record)
    assert "\n" not in text
    assert json.loads(text)["message"] == "a\nb"
    assert json.loads(text)["exception"].endswith("ValueError: first\nsecond")
