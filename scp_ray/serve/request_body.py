"""A request's body: read within limits of size and time, and parsed strictly.

Also what goes on while a question is answered: when its client leaves, the work is cancelled.
"""

import asyncio
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope
from typing_extensions import override

from scp_ray.errors import ShardUnavailableError
from scp_ray.serve.models import BatchRequest, MalformedQuestion, QueryRequest

CLIENT_LEFT = 499  # as nginx has it; nobody reads this answer, only the log

M = TypeVar("M", bound=BaseModel)

_MAX_NAMED = 10_000
_CLOSE = {"Connection": "close"}  # what is left of the body is not worth reading


class _Questions(BaseModel):
    """A batch of which only the outside is looked at."""

    model_config = ConfigDict(extra="forbid")

    queries: Annotated[list[Any], Field(min_length=1, max_length=1000)]


class ReceivedRequest(Request):
    """A request whose body is here already, and parsed.

    FastAPI takes the parsed form for what the JSON holds, and validates it no second time.
    """

    def __init__(self, scope: Scope, body: bytes, parsed: BaseModel | None) -> None:
        super().__init__(scope)
        self._received = body
        self._parsed = parsed

    @override
    async def body(self) -> bytes:
        return self._received

    @override
    async def json(self) -> BaseModel | None:
        return self._parsed


def require_json(headers: Headers) -> None:
    """Refuse a body that is not plain JSON in UTF-8.

    A page of another origin can make a browser send forms and plain text unasked, but not this.

    Raises:
        HTTPException: 415.
    """
    media_type, _, parameters = headers.get("content-type", "").partition(";")
    name, _, charset = parameters.strip().lower().partition("=")
    is_utf8 = name != "charset" or charset.strip('" ') in {"utf-8", "utf8"}
    is_plain = headers.get("content-encoding", "identity").strip().lower() == "identity"
    if media_type.strip().lower() != "application/json" or not is_utf8 or not is_plain:
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "send JSON in UTF-8, uncompressed, with Content-Type: application/json",
            _CLOSE,
        )


async def read_body(request: Request, *, max_bytes: int, timeout_s: float) -> bytes:
    """Read a body.

    Args:
        request: Nothing of its body is read yet.
        max_bytes: More are refused: by ``Content-Length`` before the first is read, and otherwise
            as soon as they are there.
        timeout_s: Seconds in which the last one has to be there.

    Raises:
        HTTPException: 413 or 408; the connection is closed with it. 400 if the client left.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > max_bytes:
        raise _too_large(max_bytes)
    try:
        async with asyncio.timeout(timeout_s):
            return await _collect(request.receive, max_bytes)
    except TimeoutError:
        detail = f"the body was not there within {timeout_s:g} s"
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail, _CLOSE) from None


async def _collect(receive: Receive, max_bytes: int) -> bytes:
    body = bytearray()
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            raise HTTPException(HTTPStatus.BAD_REQUEST, "the client left", _CLOSE)
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(max_bytes: int) -> HTTPException:
    detail = f"the body has more than {max_bytes} bytes"
    return HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, _CLOSE)


def parse_body(form: type[BaseModel], body: bytes) -> BaseModel:
    """Parse a body: JSON as RFC 8259 has it, of a form that is taken literally.

    JSON is UTF-8 without NaN and lone surrogates, and of bounded depth. No value is taken for one
    of another type: ``"5"`` is no number and 0 is not false. 5.0 is an integer, as JSON Schema
    has it. In a batch a question of another form leaves a ``MalformedQuestion`` in its place.

    Raises:
        HTTPException: 422, if it is not JSON; the place of the fault is named.
        RequestValidationError: If it is not of the form.
    """
    try:
        tree = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        detail = f"body: not JSON: {error}"
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, detail) from None
    if form is BatchRequest:
        return _batch_of(_of_form(_Questions, body, tree).queries)
    return _of_form(form, body, tree)


def _of_form(form: type[M], body: bytes, tree: object, max_named: int = _MAX_NAMED) -> M:
    try:
        return form.model_validate_json(body, strict=True)
    except ValidationError as error:
        problems = _located(error, max_named)
    if all(problem.get("type") != "int_type" for problem in problems):
        raise RequestValidationError(problems)
    integers = to_json(_with_integers(tree), inf_nan_mode="constants")
    try:
        return form.model_validate_json(integers, strict=True)
    except ValidationError as error:
        raise RequestValidationError(_located(error, max_named)) from None


def _batch_of(trees: list[object]) -> BatchRequest:
    questions: list[QueryRequest | MalformedQuestion] = []
    max_named = _MAX_NAMED // len(trees)
    for tree in trees:
        try:
            questions.append(_of_form(QueryRequest, to_json(tree), tree, max_named))
        except RequestValidationError as error:
            questions.append(MalformedQuestion(error))
    return BatchRequest(queries=questions)


def _with_integers(tree: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(tree, dict):
        return {key: _with_integers(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_with_integers(value) for value in tree]
    return int(tree) if isinstance(tree, float) and tree.is_integer() else tree


def _located(error: ValidationError, max_named: int) -> list[dict[str, Any]]:
    if error.error_count() > max_named:  # to name them all costs more than to find them
        message = f"{error.error_count()} values are not of the documented form"
        return [{"loc": ("body",), "msg": message}]
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return [{**problem, "loc": ("body", *problem["loc"])} for problem in problems]


async def unless_client_leaves(receive: Receive, answer: Coroutine[Any, Any, Response]) -> Response:
    """Run a handler, and cancel it when the connection is closed under it.

    Servers differ: one tells of a closed connection through ``receive``, the other cancels the
    task. Either way the handler has ended when this returns.

    Raises:
        ShardUnavailableError: If the handler was cancelled by something else.
    """
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if answering.cancelled():  # by its own parts; that is no leave of the client
            message = "the work on the question was cancelled"
            raise ShardUnavailableError(message)
        if answering.done():
            return answering.result()
        return Response(status_code=CLIENT_LEFT)
    finally:
        answering.cancel()
        leaving.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
