"""Every error answer of the HTTP interface: a JSON problem (RFC 9457) with its status.

One table says which status an error has; routes raise, and nothing else writes error bodies. A
problem never holds a stack trace.
"""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from scp_ray.errors import (
    ConfigError,
    IndexFormatError,
    NotReadyError,
    OverloadedError,
    ShardUnavailableError,
    StorageError,
)
from scp_ray.serve.models import ProblemModel

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1

_MAX_DETAIL_CHARACTERS = 2000
_MAX_LISTED = 10
_STATUS: dict[type[Exception], HTTPStatus] = {
    ConfigError: HTTPStatus.UNPROCESSABLE_ENTITY,
    OverloadedError: HTTPStatus.TOO_MANY_REQUESTS,
    NotReadyError: HTTPStatus.SERVICE_UNAVAILABLE,
    ShardUnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
    StorageError: HTTPStatus.SERVICE_UNAVAILABLE,
    IndexFormatError: HTTPStatus.SERVICE_UNAVAILABLE,
}
_TITLES = {
    HTTPStatus.BAD_REQUEST: "the request cannot be read",
    HTTPStatus.UNAUTHORIZED: "a valid token is needed",
    HTTPStatus.FORBIDDEN: "not allowed",
    HTTPStatus.NOT_FOUND: "nothing is here",
    HTTPStatus.METHOD_NOT_ALLOWED: "this method is not offered here",
    HTTPStatus.REQUEST_TIMEOUT: "the request took too long to arrive",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the request is too large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "the request is not JSON",
    HTTPStatus.MISDIRECTED_REQUEST: "this service answers to loopback names only",
    HTTPStatus.UNPROCESSABLE_ENTITY: "the question cannot be asked",
    HTTPStatus.TOO_MANY_REQUESTS: "too many questions are being answered; ask again",
    HTTPStatus.INTERNAL_SERVER_ERROR: "the service failed",
    HTTPStatus.SERVICE_UNAVAILABLE: "the index, or a part of it, does not answer",
}

_logger = logging.getLogger(__name__)


def problem_of(error: BaseException) -> ProblemModel:
    """Return the problem that an error is answered with.

    An error that nobody foresaw is logged and told as status 500 without its text.
    """
    if isinstance(error, HTTPException):
        return _problem(error.status_code, error.detail)
    if isinstance(error, RequestValidationError):
        return _problem(HTTPStatus.UNPROCESSABLE_ENTITY, _told(error))
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return _problem(status, error)
    _logger.error("a request failed", exc_info=error)
    return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, "the log of the service has the reason")


def problem_response(error: BaseException) -> JSONResponse:
    """Return the answer to a request that failed; 429 and 503 say when to ask again."""
    problem = problem_of(error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if problem.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return JSONResponse(
        problem.model_dump(), status_code=problem.status, headers=headers, media_type=MEDIA_TYPE
    )


def answer_with_problems(api: FastAPI) -> None:
    """Make an application answer the known errors with problems."""

    async def answer(_request: Request, error: Exception) -> JSONResponse:
        return problem_response(error)

    for kind in (HTTPException, RequestValidationError, *_STATUS):
        api.add_exception_handler(kind, answer)


def problem_answers(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Return what the OpenAPI document says of these statuses."""
    return {status.value: _described(status) for status in statuses}


def _described(status: HTTPStatus) -> dict[str, Any]:
    title = _TITLES[status]
    example = {"type": "about:blank", "title": title, "status": status.value, "detail": "..."}
    schema = {"$ref": "#/components/schemas/ProblemModel"}
    return {
        "description": title,
        "content": {MEDIA_TYPE: {"schema": schema, "example": example}},
    }


def _problem(status: int, detail: object) -> ProblemModel:
    text = str(detail).encode("utf-8", "backslashreplace").decode()
    if len(text) > _MAX_DETAIL_CHARACTERS:
        text = text[:_MAX_DETAIL_CHARACTERS] + "..."
    title = _TITLES.get(HTTPStatus(status), HTTPStatus(status).phrase)
    return ProblemModel(title=title, status=status, detail=text)


def _told(error: RequestValidationError) -> str:
    """Name what is wrong, without the value: it may be one that JSON cannot carry back."""
    problems = error.errors()
    told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problems[:_MAX_LISTED]]
    if len(problems) > _MAX_LISTED:
        told.append(f"and {len(problems) - _MAX_LISTED} more")
    return "; ".join(told)
