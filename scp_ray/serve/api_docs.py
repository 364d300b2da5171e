"""The OpenAPI document, and Swagger UI at ``/docs`` without internet and inline script.

Of the package ``fastapi-swagger`` only the files are used: its page has an inline script, which
our content policy forbids.
"""

from functools import cache
from http import HTTPStatus
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from scp_ray.config import Settings
from scp_ray.serve.question_limits import MAX_FILTER_FIELDS, MAX_FILTER_VALUES

BEARER: dict[str, Any] = {"security": [{"bearer": []}]}

GUARDED = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
ASKED = (
    *GUARDED,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
OPEN = (HTTPStatus.FORBIDDEN, HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE)
_QUESTION = {"query": "How do I clean the filter of the K-104?", "top_k": 3}
QUERY_EXAMPLES: dict[str, Any] = {
    "question": {"summary": "A question", "value": _QUESTION},
    "filter": {
        "summary": "Of one model only, with the context for a language model",
        "value": {**_QUESTION, "filter": {"cnm.model": "K-104"}, "max_context_tokens": 500},
    },
    "explain": {
        "summary": "With everything that led to the results",
        "value": {**_QUESTION, "explain": True, "position_weight": 0.1, "min_index_gap": 3},
    },
}
BATCH_EXAMPLES: dict[str, Any] = {
    "two": {"summary": "Two questions", "value": {"queries": [_QUESTION, {"query": "Error E4?"}]}}
}

_ASSETS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
_CACHED = {"Cache-Control": "public, max-age=3600"}
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>scp_ray: interface</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</html>
"""
_START = """SwaggerUIBundle({url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true});
"""
_NOT_EMPTY = r"[^\s\x1c-\x1f\x85]"  # Python's white space; that of other languages is less
_KINDS = ("string", "number", "boolean")
_VALUE = {"anyOf": [{"type": kind} for kind in _KINDS]}
_RANGES = [
    {
        "type": "object",
        "properties": {key: {"type": kind} for key in ("gte", "gt", "lte", "lt")},
        "additionalProperties": False,
        "minProperties": 1,
    }
    for kind in _KINDS
]
_FILTER = {
    "type": "object",
    "maxProperties": MAX_FILTER_FIELDS,
    "propertyNames": {"pattern": r"^(doc_id|cnm\.category|cnm\.model|metadata\..+)$"},
    "additionalProperties": {
        "anyOf": [
            *_VALUE["anyOf"],
            {"type": "array", "items": _VALUE, "maxItems": MAX_FILTER_VALUES},
            *_RANGES,
        ]
    },
}


def docs_routes() -> list[BaseRoute]:
    """Return the routes of the page ``/docs``."""

    async def page(_request: Request) -> Response:
        return Response(_PAGE, media_type="text/html")

    async def start(_request: Request) -> Response:
        return Response(_START, media_type="text/javascript", headers=_CACHED)

    async def asset(request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        return Response(_asset(name), media_type=_ASSETS[name], headers=_CACHED)

    return [
        Route("/docs", page),
        Route("/docs/start.js", start),
        *(Route(f"/docs/{name}", asset) for name in _ASSETS),
    ]


@cache
def _asset(name: str) -> bytes:
    return (resources.files("fastapi_swagger.resources") / name).read_bytes()


def describe(api: FastAPI, settings: Settings) -> dict[str, Any]:
    """Return the OpenAPI document: that of FastAPI, with the limits of these settings."""
    document = get_openapi(
        title=api.title, version=api.version, description=api.description, routes=api.routes
    )
    if settings.serve.tokens_file is not None:
        bearer = {"type": "http", "scheme": "bearer", "description": "see docs/operations.md"}
        document["components"]["securitySchemes"] = {"bearer": bearer}
    schemas, serve = document["components"]["schemas"], settings.serve
    schemas["BatchRequest"]["properties"]["queries"]["maxItems"] = min(
        serve.max_batch, serve.max_in_flight
    )
    question = schemas["QueryRequest"]
    fields = question["properties"]
    fields["top_k"]["anyOf"][0]["maximum"] = serve.max_top_k
    fields["query"]["anyOf"][0] |= {"maxLength": serve.max_query_characters, "pattern": _NOT_EMPTY}
    fields["filter"]["anyOf"][0] = _FILTER
    question["oneOf"] = [_given("query", "string"), _given("embedding", "array")]
    return document


def _given(name: str, kind: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"type": kind}}}
