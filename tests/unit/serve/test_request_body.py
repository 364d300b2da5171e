"""Bodies within their limits, and work that ends with its client."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum

import pytest
from fastapi.exceptions import RequestValidationError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from scp_ray.errors import ShardUnavailableError
from scp_ray.serve.models import BatchRequest, MalformedQuestion
from scp_ray.serve.request_body import (
    ReceivedRequest,
    parse_body,
    read_body,
    require_json,
    unless_client_leaves,
)

SCOPE = {"type": "http", "method": "POST", "path": "/", "headers": []}


class Choice(StrEnum):
    """An enumeration."""

    A = "a"


class Form(BaseModel):
    """One field of each type."""

    number: int = 0
    flag: bool = True
    text: str = ""
    choice: Choice = Choice.A


class Client:
    """Sends pieces of a body, then nothing more, or leaves."""

    def __init__(self, pieces: Sequence[bytes], then: str = "end") -> None:
        self.messages: list[Message] = [
            {"type": "http.request", "body": piece, "more_body": True} for piece in pieces
        ]
        if then == "end":
            self.messages.append({"type": "http.request", "body": b""})
        elif then == "leave":
            self.messages.append({"type": "http.disconnect"})
        self.taken = 0

    async def receive(self) -> Message:
        if self.taken == len(self.messages):
            await asyncio.sleep(3600)
        self.taken += 1
        return self.messages[self.taken - 1]

    def request(self, **headers: str) -> Request:
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        return Request({**SCOPE, "headers": raw}, self.receive)


def _read(request: Request, max_bytes: int = 10, timeout_s: float = 5.0) -> bytes:
    return asyncio.run(read_body(request, max_bytes=max_bytes, timeout_s=timeout_s))


@given(st.lists(st.binary(max_size=8), max_size=8))
def test_body_is_whole_up_to_the_limit_and_refused_beyond(pieces: list[bytes]) -> None:
    body, client = b"".join(pieces), Client(pieces)
    if len(body) <= 10:
        assert _read(client.request()) == body
        return
    with pytest.raises(HTTPException, match="413") as refused:
        _read(client.request())
    assert refused.value.headers == {"Connection": "close"}
    before = b"".join(pieces[: client.taken - 1])
    assert len(before) <= 10, "it read on after the limit"


@pytest.mark.parametrize("announced", ["11", "00011", "9" * 5000])
def test_announced_size_is_refused_before_a_byte_is_read(announced: str) -> None:
    client = Client([b"x"] * 11)
    with pytest.raises(HTTPException, match="413"):
        _read(client.request(content_length=announced))
    assert client.taken == 0


@pytest.mark.parametrize("announced", ["10", "-5", "²", "ten", ""])
def test_other_sizes_are_left_to_the_count(announced: str) -> None:
    assert _read(Client([b"0123456789"]).request(content_length=announced)) == b"0123456789"


def test_slow_sender_is_told_408() -> None:
    with pytest.raises(HTTPException, match=r"408: the body was not there within 0.01 s"):
        _read(Client([b"x"], then="silence").request(), timeout_s=0.01)


def test_sender_that_leaves_ends_the_reading() -> None:
    with pytest.raises(HTTPException, match="400: the client left"):
        _read(Client([b"x"], then="leave").request())


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json"},
        {"content-type": "Application/JSON; charset=UTF-8"},
        {"content-type": 'application/json;charset="utf-8"', "content-encoding": "identity"},
    ],
)
def test_json_is_taken(headers: dict[str, str]) -> None:
    require_json(Headers(headers))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": ""},
        {"content-type": "text/plain"},
        {"content-type": "text/plain; application/json"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=application/json"},
        {"content-type": "application/json, text/plain"},
        {"content-type": "application/json; charset=utf-16"},
        {"content-type": "application/json", "content-encoding": "gzip"},
        {"content-type": "applicatıon/json"},
    ],
)
def test_anything_else_is_told_415(headers: dict[str, str]) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    with pytest.raises(HTTPException, match="415"):
        require_json(Headers(raw=raw))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nul",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'"\xff"',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"1" * 100_000,
        b"{} {}",
        b"{'a': 1}",
        b"\x00",
    ],
)
def test_what_is_not_json_is_told_422(body: bytes) -> None:
    with pytest.raises(HTTPException, match="422: body: not JSON"):
        parse_body(Form, body)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'{"number": "5"}', "number"),
        (b'{"number": true}', "number"),
        (b'{"number": 5.5}', "number"),
        (b'{"flag": 0}', "flag"),
        (b'{"flag": "true"}', "flag"),
        (b'{"text": 5}', "text"),
        (b'{"choice": "c"}', "choice"),
        (b'{"number": 1e999}', "number"),
    ],
)
def test_no_value_is_taken_for_another(body: bytes, place: str) -> None:
    with pytest.raises(RequestValidationError, match=place) as refused:
        parse_body(Form, body)
    (problem,) = refused.value.errors()
    assert problem["loc"] == ("body", place)
    assert "input" not in problem


def test_whole_numbers_may_have_a_point() -> None:
    assert parse_body(Form, b'{"number": 5.0, "text": "5.0"}') == Form(number=5, text="5.0")
    assert parse_body(Form, b'{"number": -1e2}') == Form(number=-100)


def test_faults_without_number_are_counted_and_not_named() -> None:
    class Numbers(BaseModel):
        numbers: list[int]

    body = b'{"numbers": [' + b", ".join([b'"x"'] * 10_001) + b"]}"
    with pytest.raises(RequestValidationError, match="10001 values are not of the documented form"):
        parse_body(Numbers, body)


@pytest.mark.parametrize(("num_questions", "num_faults"), [(1, 10_001), (10, 1001), (1000, 11)])
def test_a_batch_names_no_more_faults_than_one_question(
    num_questions: int, num_faults: int
) -> None:
    def batch_of(num_faults: int) -> list[str]:
        question = b'{"embedding": [' + b", ".join([b'"x"'] * num_faults) + b"]}"
        body = b'{"queries": [' + b", ".join([question] * num_questions) + b"]}"
        batch = parse_body(BatchRequest, body)
        assert isinstance(batch, BatchRequest)
        return [str(one.error) for one in batch.queries if isinstance(one, MalformedQuestion)]

    told = f"{num_faults} values are not of the documented form"
    counted, named = batch_of(num_faults), batch_of(num_faults - 1)
    assert [told in one for one in counted] == [True] * num_questions
    assert ["should be a valid number" in one for one in named] == [True] * num_questions


def test_form_is_filled() -> None:
    body = b'{"number": 5, "flag": false, "text": "\\ud83d\\ude00", "choice": "a"}'
    assert parse_body(Form, body) == Form(number=5, flag=False, text="😀", choice=Choice.A)


def test_received_request_has_its_body_and_the_scope() -> None:
    form = Form(number=1)
    request = ReceivedRequest(SCOPE, b"{}", form)
    assert asyncio.run(request.json()) is form
    assert asyncio.run(request.body()) == b"{}"
    assert request.method == "POST"


class Handler:
    """Answers after some turns of the loop, or never, and remembers how it ended."""

    def __init__(self, turns: int, error: BaseException | None = None) -> None:
        self.turns = turns
        self.error = error
        self.ended = "not begun"

    async def __call__(self) -> Response:
        self.ended = "running"
        try:
            for _ in range(self.turns):
                await asyncio.sleep(0)
            if self.error:
                raise self.error
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        self.ended = "answered"
        return Response("here")


def _leaves_after(turns: int | None) -> Client:
    return Client([b"more"] * (turns or 0), then="silence" if turns is None else "leave")


def test_answer_and_error_pass_when_the_client_stays() -> None:
    client = _leaves_after(None)
    answer = asyncio.run(unless_client_leaves(client.receive, Handler(3)()))
    assert (answer.status_code, answer.body) == (200, b"here")
    failing = Handler(3, OSError("disk"))
    with pytest.raises(OSError, match="disk"):
        asyncio.run(unless_client_leaves(client.receive, failing()))


def test_work_is_cancelled_when_the_client_leaves() -> None:
    handler = Handler(10**9)
    answer = asyncio.run(unless_client_leaves(_leaves_after(2).receive, handler()))
    assert answer.status_code == 499
    assert handler.ended == "cancelled"


def test_work_that_was_cancelled_by_a_part_of_it_is_told() -> None:
    failing = Handler(3, asyncio.CancelledError())
    with pytest.raises(ShardUnavailableError, match="was cancelled"):
        asyncio.run(unless_client_leaves(_leaves_after(None).receive, failing()))


def test_work_is_cancelled_with_its_task() -> None:
    handler = Handler(10**9)

    async def main() -> None:
        never = _leaves_after(None).receive
        task = asyncio.ensure_future(unless_client_leaves(never, handler()))
        await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())
    assert handler.ended == "cancelled"
