"""A server that answers at once with the same bytes: shows what the load generator can do."""

import argparse
import asyncio
import json
import sys

from typing_extensions import override

_HEAD_END = b"\r\n\r\n"


class Answering(asyncio.Protocol):
    """One connection; a request is taken to be whole when it arrives, as small ones are.

    Args:
        reply: What it answers.
    """

    def __init__(self, reply: bytes) -> None:
        self._reply = reply
        self._transport: asyncio.WriteTransport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            self._transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        if self._transport is not None and _HEAD_END in data:
            self._transport.write(self._reply)


def reply_of(num_bytes: int) -> bytes:
    """Return an answer with a body of that many bytes, a JSON string."""
    body = json.dumps("x" * (num_bytes - 2)).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + _HEAD_END + body


async def _serve(num_bytes: int) -> None:
    reply = reply_of(num_bytes)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answering(reply), "127.0.0.1", 0, backlog=256)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"ready {port} {{}}\n")
    sys.stdout.flush()
    await server.serve_forever()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bytes", type=int, help="length of an answer's body")
    asyncio.run(_serve(parser.parse_args().bytes))


if __name__ == "__main__":
    main()
