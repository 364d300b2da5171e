"""Serves the page at ``/``: files of this package, from memory, revalidated by their hash."""

import hashlib
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_INDEX = "index.html"
_NOT_MODIFIED = 304


class _PageFile:
    """A file of the page, held in memory."""

    def __init__(self, content: bytes, media_type: str) -> None:
        self._content = content
        self._headers = {
            "Content-Type": media_type,
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            # The names stay while the contents change with the version: ask each time.
            "Cache-Control": "no-cache",
        }

    async def respond(self, request: Request) -> Response:
        """Return the file, or nothing if the browser has it."""
        known = request.headers.get("If-None-Match", "")
        tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
        if "*" in tags or self._headers["ETag"] in tags:
            return Response(status_code=_NOT_MODIFIED, headers=self._headers)
        return Response(self._content, headers=self._headers)


def page_routes() -> list[Route]:
    """Return the routes of the page: ``/``, and ``/static/<name>`` for what it loads.

    They answer GET and HEAD. The page needs no more than ``script-src 'self'``,
    ``style-src 'self'``, ``connect-src 'self'`` and ``img-src 'self'``, and calls
    ``POST v1/query`` and ``GET v1/index`` relative to its own address.
    """
    routes: list[Route] = []
    for entry in sorted(resources.files(__package__).joinpath("page").iterdir(), key=str):
        media_type = _MEDIA_TYPES.get(f".{entry.name.rpartition('.')[2]}")
        if media_type is None:
            continue
        path = "/" if entry.name == _INDEX else f"/static/{entry.name}"
        file = _PageFile(entry.read_bytes(), media_type)
        routes.append(Route(path, file.respond, methods=["GET"], include_in_schema=False))
    return routes
