"""What protects people's browsers: headers on every answer, and no help to pages of other origins.

Pure ASGI, outside the routes, so that it holds for every answer there is.
"""

import re
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scp_ray.serve.problems import problem_response
from scp_ray.serve.tokens import is_loopback

_CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # Swagger UI's icons
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = [
    (b"content-security-policy", _CONTENT_POLICY.encode()),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
_CACHE_CONTROL = b"cache-control"
_HOST = re.compile(r"(\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(:[0-9]{1,5})?")


class SecurityHeaders:
    """Puts the security headers on every answer, and answers what failed unforeseen.

    What says nothing of caching is not to be cached.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                headers = [*message.get("headers", ()), *_HEADERS]
                if all(name.lower() != _CACHE_CONTROL for name, _ in headers):
                    headers.append((_CACHE_CONTROL, b"no-store"))
                message = {**message, "headers": headers}
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:  # the boundary: nothing is outside
            if has_started:
                raise
            await problem_response(error)(scope, receive, send_with_headers)


class LoopbackOnly:
    """Refuses what a page of another origin can make a browser send to a service without tokens.

    A name that an attacker points to 127.0.0.1 (DNS rebinding) stands in ``Host``; the page that
    asks stands in ``Origin``.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        refusal = _refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await problem_response(refusal)(scope, receive, send)


def _refusal(headers: Headers) -> HTTPException | None:
    hosts = headers.getlist("host")
    match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if match is None or not is_loopback(match["v6"] or match["name"]):
        detail = "without tokens this service is for this machine: Host must be a loopback name"
        return HTTPException(HTTPStatus.MISDIRECTED_REQUEST, detail)
    own = {f"http://{hosts[0]}", f"https://{hosts[0]}"}
    if not own.issuperset(headers.getlist("origin")):
        return HTTPException(HTTPStatus.FORBIDDEN, "a page of another origin may not ask here")
    return None
