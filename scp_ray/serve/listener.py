"""A front's own HTTP server, which saves a request the way through Ray Serve's proxy."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI
from typing_extensions import override

from scp_ray.errors import ClusterError, ConfigError

# Longer than clients and proxies keep an idle connection: whoever closes it second loses a request.
_KEEP_ALIVE_S = 75


class _Server(uvicorn.Server):
    """A server that leaves the signals of its process to Ray."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Listener:
    """Serves an application on a TCP port that the fronts of a machine share.

    Args:
        app: The application.
        host: Address to listen on.
        port: TCP port.

    Raises:
        ConfigError: If it cannot listen there.
    """

    def __init__(self, app: FastAPI, host: str, port: int) -> None:
        self._socket = bound_socket(host, port, is_shared=True)
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))

    def check(self) -> None:
        """Look whether it still serves.

        Raises:
            ClusterError: If it does not.
        """
        if self._serving.done():
            message = "the HTTP server of the front has ended"
            raise ClusterError(message)

    async def close(self) -> None:
        """Take no more requests, and end when those under way have their answers."""
        self._server.should_exit = True
        await self._serving


def bound_socket(host: str, port: int, *, is_shared: bool) -> socket.socket:
    """Return a TCP socket bound to an address.

    Args:
        host: A name or an address of this machine.
        port: The port.
        is_shared: Whether other sockets that are shared too may have the same port.

    Raises:
        ConfigError: If somebody else has it, or the address is none of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        message = f"cannot listen on {host}, port {port}: {error.strerror}; see --host and --port"
        raise ConfigError(message) from error
    return bound
