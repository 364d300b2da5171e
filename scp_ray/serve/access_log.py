"""The access log: one line of JSON for each HTTP request, and none of its words.

``docs/observability.md`` has the fields.
"""

import asyncio
import json
import logging
import re
import sys
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from datetime import UTC, datetime
from typing import Any

from typing_extensions import override

from scp_ray.serve.metrics import Metrics
from scp_ray.serve.tracing import RequestSpan, request_span

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CLIENT_GONE = 499  # as nginx has it; HTTP has no status for a reply that nobody waits for
UNMATCHED = "unmatched"

_ACCESS = logging.getLogger("scp_ray.access")
_SERVICE = logging.getLogger("scp_ray")
_FIELDS = "fields"
_REQUEST_ID = b"x-request-id"
_SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_FAILED = 500
_MAX_METHOD_CHARACTERS = 16
_JSON = json.JSONEncoder(default=str)


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, in ASCII: no value can end it or begin another."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": utc(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, _FIELDS, {})
        if record.exc_info:
            # Not ``formatException``: it prints, and Serve's own print garbles that.
            line["exception"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return _JSON.encode(line)


class _LinesToStderr(logging.StreamHandler[Any]):
    """Writes to the process's own stderr, which Serve may put a logger of its own before."""

    def __init__(self) -> None:
        super().__init__(sys.__stderr__)
        self.setFormatter(JsonLines())


def start_logging() -> None:
    """Send what ``scp_ray`` logs to stderr, a line of JSON each; more calls change nothing."""
    if not any(isinstance(handler, _LinesToStderr) for handler in _SERVICE.handlers):
        _SERVICE.addHandler(_LinesToStderr())
    _SERVICE.setLevel(logging.INFO)
    _SERVICE.propagate = False  # else the root's handlers write every line again


class RequestLog:
    """ASGI middleware that logs, counts and traces every HTTP request; put it outermost.

    It returns the request's ``X-Request-Id``, or a new one where it is missing or no plain name,
    and puts it into the request's state as ``request_id``. What others put there as
    ``token_name`` and ``generation`` is logged. A request whose client went away has status 499.

    Args:
        app: The application.
        metrics: What counts the requests.
        returns_id: Whether to put the id into the response; Ray Serve's proxy does so by itself.
    """

    def __init__(self, app: App, metrics: Metrics, *, returns_id: bool = True) -> None:
        self._app = app
        self._metrics = metrics
        self._returns_id = returns_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, returns_id=self._returns_id)
        with request_span(scope["headers"]) as span:
            try:
                await self._app(scope, exchange.receive, exchange.send)
            except asyncio.CancelledError:
                exchange.is_gone |= not exchange.is_complete
                raise
            finally:
                self._tell(exchange, span)

    def _tell(self, exchange: "_Exchange", span: RequestSpan) -> None:
        seconds = time.perf_counter() - exchange.started
        self._metrics.request_done(exchange.route, exchange.status, seconds)
        span.ended(exchange.method, exchange.route, exchange.status, exchange.request_id)
        fields = {**exchange.fields(), "ms": round(1000 * seconds, 3), "trace_id": span.trace_id}
        _ACCESS.info("request", extra={_FIELDS: fields})


class _Exchange:
    """A request, and its response as far as it was sent."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, returns_id: bool) -> None:
        self.started = time.perf_counter()
        self.is_gone = False
        self.is_complete = False
        self.request_id = _request_id(scope["headers"])
        self.method = str(scope["method"])[:_MAX_METHOD_CHARACTERS]
        self._scope = scope
        self._receive = receive
        self._send = send
        self._returns_id = returns_id
        self._sent_status = _FAILED
        self._num_bytes = 0
        self._state: dict[str, Any] = scope.setdefault("state", {})
        self._state["request_id"] = self.request_id

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self.is_complete:
            self.is_gone = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._sent_status = message["status"]
            if self._returns_id:
                message = {**message, "headers": self._with_id(message.get("headers", ()))}
        try:
            await self._send(message)
        except OSError:
            self.is_gone = True
            raise
        if message["type"] == "http.response.body":
            self._num_bytes += len(message.get("body", b""))
            self.is_complete = not message.get("more_body", False)

    @property
    def status(self) -> int:
        """The status that was sent, 499 if the client did not wait, else 500 if none was."""
        return CLIENT_GONE if self.is_gone else self._sent_status

    @property
    def route(self) -> str:
        """The path's template, such as ``/v1/query``: what was asked for may hold anything."""
        return str(getattr(self._scope.get("route"), "path", UNMATCHED))

    def fields(self) -> dict[str, object]:
        """Return what is logged of the exchange."""
        client = self._scope.get("client")
        return {
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "bytes": self._num_bytes,
            "client": client[0] if client else None,
            "request_id": self.request_id,
            "token": self._state.get("token_name"),
            "generation": self._state.get("generation"),
        }

    def _with_id(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        others = [header for header in headers if header[0].lower() != _REQUEST_ID]
        return [*others, (_REQUEST_ID, self.request_id.encode())]


def utc(seconds: float) -> str:
    """Return a time of the Unix clock as ``2026-11-30T12:00:00.000Z``."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


def _request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    given = next((value for name, value in headers if name.lower() == _REQUEST_ID), b"")
    return given.decode() if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
