"""A route of the API: asks for a token, reads the body within limits, ends when the client left.

The token comes first, so that nobody unknown makes the service read a body.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from typing_extensions import override

from scp_ray.serve.request_body import (
    ReceivedRequest,
    parse_body,
    read_body,
    require_json,
    unless_client_leaves,
)
from scp_ray.serve.tokens import Scope, TokenFile

_CHALLENGE = {"WWW-Authenticate": "Bearer"}


@dataclass(frozen=True, slots=True)
class Guard:
    """What guarded routes ask for and allow; ``app.state.guard`` of the application.

    Attributes:
        tokens: The tokens, or None if none is asked for.
        max_body_bytes: Larger bodies are refused.
        body_timeout_s: Seconds in which a body has to be there.
    """

    tokens: TokenFile | None
    max_body_bytes: int
    body_timeout_s: float

    def admit(self, request: Request, scope: Scope) -> None:
        """Let a request pass; the token's name is left in its state for the access log.

        Raises:
            HTTPException: 401 or 403.
        """
        if self.tokens is None:
            return
        token = self.tokens.find(_presented(request))
        if token is None:
            detail = "send Authorization: Bearer and a token that this service knows"
            raise HTTPException(HTTPStatus.UNAUTHORIZED, detail, _CHALLENGE)
        request.state.token_name = token.name
        if not token.allows(scope):
            detail = f"the token is for {token.scope}, and this needs {scope}"
            raise HTTPException(HTTPStatus.FORBIDDEN, detail)


def _presented(request: Request) -> bytes:
    headers = [value for name, value in request.headers.raw if name == b"authorization"]
    if len(headers) != 1:
        return b""
    scheme, _, token = headers[0].partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


class QueryRoute(APIRoute):
    """A route for tokens of scope ``query``."""

    needs: ClassVar[Scope] = Scope.QUERY

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            guard: Guard = request.app.state.guard
            guard.admit(request, self.needs)
            received = await self._receive(request, guard)
            return await unless_client_leaves(request.receive, handle(received))

        return guarded

    async def _receive(self, request: Request, guard: Guard) -> ReceivedRequest:
        if self.body_field is None:
            return ReceivedRequest(request.scope, b"", None)
        require_json(request.headers)
        body = await read_body(
            request, max_bytes=guard.max_body_bytes, timeout_s=guard.body_timeout_s
        )
        form: type[BaseModel] = self.body_field.field_info.annotation  # type: ignore[assignment]
        return ReceivedRequest(request.scope, body, parse_body(form, body))


class AdminRoute(QueryRoute):
    """A route for tokens of scope ``admin``."""

    needs: ClassVar[Scope] = Scope.ADMIN
