"""The HTTP interface: a FastAPI application over a ``QueryService``.

It knows nothing of shards, groups and generations. Answers are written by the service's models;
errors become problems (``problems``), tokens are asked for by the routes (``guarded_route``).
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, FastAPI, Header, Request, Response
from pydantic import BaseModel, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError
from starlette.middleware import Middleware

from scp_ray import __version__
from scp_ray.config import Settings
from scp_ray.errors import ConfigError
from scp_ray.serve.admission import Admission
from scp_ray.serve.api_docs import (
    ASKED,
    BATCH_EXAMPLES,
    BEARER,
    GUARDED,
    OPEN,
    QUERY_EXAMPLES,
    describe,
    docs_routes,
)
from scp_ray.serve.browser_safety import LoopbackOnly, SecurityHeaders
from scp_ray.serve.canary import Canary
from scp_ray.serve.guarded_route import AdminRoute, Guard, QueryRoute
from scp_ray.serve.models import (
    BatchItem,
    BatchReply,
    BatchRequest,
    IndexInfo,
    MalformedQuestion,
    QueryReply,
    QueryRequest,
)
from scp_ray.serve.page import page_routes
from scp_ray.serve.problems import answer_with_problems, problem_answers, problem_of
from scp_ray.serve.question_limits import refuse_beyond_limits
from scp_ray.serve.service import QueryService
from scp_ray.serve.tokens import TokenFile

MAX_DEADLINE_MS = 600_000


def _in_one_sentence(value: object, parse: ValidatorFunctionWrapHandler) -> object:
    try:
        return parse(value)
    except ValidationError:
        kind, message = "deadline", "expected a whole number of milliseconds from 1 to {most}"
        raise PydanticCustomError(kind, message, {"most": MAX_DEADLINE_MS}) from None


DeadlineHeader = Annotated[
    Annotated[int, Field(ge=1, le=MAX_DEADLINE_MS)] | SkipJsonSchema[None],
    WrapValidator(_in_one_sentence),
    Header(
        alias="X-Deadline-Ms",
        description="Milliseconds in which the answer is wanted; the smaller of this and "
        "`deadline_ms` holds.",
    ),
]


def create_api(
    service: QueryService,
    settings: Settings,
    *,
    admission: Admission | None = None,
    middleware: Sequence[Middleware] = (),
) -> FastAPI:
    """Make the application.

    Args:
        service: Answers the questions.
        settings: The section ``serve`` holds limits and the file of tokens.
        admission: Counts the questions; None = a new one with ``serve.max_in_flight``. It is at
            ``app.state.admission``.
        middleware: Put outside of everything else, the first outermost.

    Raises:
        ConfigError: If the file of tokens cannot be read.
    """
    path = settings.serve.tokens_file
    tokens = None if path is None else TokenFile(path)
    api = FastAPI(
        title="scp_ray",
        version=__version__,
        description="Finds the right passage of the right document: two-pass positional search.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            *middleware,
            Middleware(SecurityHeaders),
            *([Middleware(LoopbackOnly)] if tokens is None else []),
        ],
    )
    api.state.admission = admission or Admission(settings.serve.max_in_flight)
    api.state.guard = Guard(tokens, settings.serve.max_body_bytes, settings.serve.body_timeout_s)
    answer_with_problems(api)
    _Endpoints(service, settings, api.state.admission).add_to(api)
    api.router.routes += [*docs_routes(), *page_routes()]  # after the paths of every question
    api.openapi_schema = describe(api, settings)
    return api


class _Endpoints:
    """What the paths do."""

    def __init__(self, service: QueryService, settings: Settings, admission: Admission) -> None:
        self._service = service
        self._limits = settings.serve
        self._admission = admission
        self._canary = Canary(service)
        self._secured = BEARER if settings.serve.tokens_file is not None else {}

    def add_to(self, api: FastAPI) -> None:
        """Add the paths to an application."""
        guarded = APIRouter(prefix="/v1", route_class=QueryRoute)
        post = partial(guarded.post, openapi_extra=self._secured, responses=problem_answers(*ASKED))
        post("/query", response_model=QueryReply)(self.query)
        post("/query/batch", response_model=BatchReply)(self.batch)
        known = problem_answers(*GUARDED)
        guarded.get(
            "/index", response_model=IndexInfo, openapi_extra=self._secured, responses=known
        )(self.index)
        admin = APIRouter(prefix="/v1/admin", route_class=AdminRoute)
        admin.post(
            "/reload", response_model=IndexInfo, openapi_extra=self._secured, responses=known
        )(self.reload)
        api.include_router(guarded)
        api.include_router(admin)
        for path, endpoint in (("/healthz", self.healthz), ("/readyz", self.readyz)):
            api.get(path, responses=problem_answers(*OPEN))(endpoint)

    async def query(
        self,
        request: Annotated[QueryRequest, Body(openapi_examples=QUERY_EXAMPLES)],
        call: Request,
        deadline_ms: DeadlineHeader = None,
    ) -> Response:
        """Answer a question."""
        with self._admission.hold(1):
            reply = await self._answer(request, deadline_ms)
        call.state.generation = reply.generation  # for the access log
        return _json(reply)

    async def batch(
        self,
        request: Annotated[BatchRequest, Body(openapi_examples=BATCH_EXAMPLES)],
        deadline_ms: DeadlineHeader = None,
    ) -> Response:
        """Answer questions together; what is wrong with one leaves the others alone."""
        questions = request.queries
        if len(questions) > self._limits.max_batch:
            message = f"{len(questions)} questions; at most {self._limits.max_batch} are taken"
            raise ConfigError(message)
        with self._admission.hold(len(questions)):
            answers = (self._answer(question, deadline_ms) for question in questions)
            outcomes = await asyncio.gather(*answers, return_exceptions=True)
        return _json(BatchReply(items=[_item(outcome) for outcome in outcomes]))

    async def _answer(
        self, request: QueryRequest | MalformedQuestion, deadline_ms: int | None
    ) -> QueryReply:
        if isinstance(request, MalformedQuestion):
            raise request.error
        refuse_beyond_limits(request, self._limits)
        if deadline_ms is not None and deadline_ms < (request.deadline_ms or MAX_DEADLINE_MS + 1):
            request = request.model_copy(update={"deadline_ms": deadline_ms})
        return await self._service.answer(request)

    async def index(self) -> Response:
        """Say what is served."""
        return _json(self._service.about())

    async def reload(self) -> Response:
        """Look for a new generation now; it is served when it is loaded."""
        return _json(await self._service.reload())

    async def healthz(self) -> dict[str, str]:
        """Search every shard once; 503 if one does not answer."""
        await self._canary.check()
        return {"status": "ok"}

    async def readyz(self) -> dict[str, str]:
        """Say whether questions should come here; 503 until they can, and when they soon cannot."""
        self._admission.require_ready()
        await self._canary.check()
        return {"status": "ready"}


def _item(outcome: QueryReply | BaseException) -> BatchItem:
    if isinstance(outcome, BaseException):
        return BatchItem(reply=None, problem=problem_of(outcome))
    return BatchItem(reply=outcome, problem=None)


def _json(model: BaseModel) -> Response:
    return Response(model.model_dump_json(), media_type="application/json")
