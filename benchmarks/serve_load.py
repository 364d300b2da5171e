"""Closed-loop clients over HTTP, in a process of their own: each sends when it has its answer.

A protocol class on raw sockets with keep-alive, since an HTTP library of Python would itself be
what is measured. Reads a ``LoadSpec`` as JSON from standard input and writes a ``LoadReport``.
"""

import asyncio
import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from typing_extensions import override

from benchmarks.figures import ROOT

OK = 200
_PATH = "/v1/query"
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_STRIDE = 7  # clients begin at different questions
_MOST_S = 120.0


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """What the clients do.

    Attributes:
        port: Port of the service on the loopback interface.
        bodies: JSON bodies of the questions, asked in turn.
        num_clients: Clients, each with a connection of its own.
        warm_s: Seconds at the beginning that do not count.
        duration_s: Seconds that count.
        whole_if: What every whole answer contains.
    """

    port: int
    bodies: Sequence[str]
    num_clients: int
    warm_s: float
    duration_s: float
    whole_if: str = ""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What the clients saw of the answers that came in the seconds that count.

    Attributes:
        latencies_ms: Of each answer with status 200.
        errors: Other answers by status, answers that are not whole as ``partial``, and broken
            connections as ``broken``; of all seconds.
        requests_per_s: Answers with status 200.
        generator_cpu: Share of a core that this process used.
        reply_bytes: Mean length of an answer, headers included.
    """

    latencies_ms: list[float]
    errors: dict[str, int]
    requests_per_s: float
    generator_cpu: float
    reply_bytes: float


@dataclass(slots=True)
class _Seen:
    """What all clients together have seen; ``since`` and ``until`` are when it counts."""

    since: float
    until: float
    whole_if: bytes
    latencies_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    num_bytes: int = 0

    def add(self, sent: float, status: int, reply: bytes | bytearray) -> None:
        now = time.perf_counter()
        if status != OK:
            self.errors[str(status)] += 1
        elif self.whole_if not in reply:
            self.errors["partial"] += 1
        elif self.since <= now < self.until:
            self.latencies_ms.append(1000.0 * (now - sent))
            self.num_bytes += len(reply)


class Client(asyncio.Protocol):
    """One connection that asks again as soon as it has its answer.

    Args:
        requests: What it sends, in turn.
        first: Place of its first one.
        seen: Where its answers go.
    """

    def __init__(self, requests: Sequence[bytes], first: int, seen: _Seen) -> None:
        self._requests = requests
        self._next = first
        self._seen = seen
        self._buffer = bytearray()
        self._sent = 0.0
        self._transport: asyncio.WriteTransport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            self._transport = transport
            self._ask(transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._buffer += data
        status = parse_reply(self._buffer)
        if status is None or self._transport is None:
            return
        self._seen.add(self._sent, status, self._buffer)
        self._buffer.clear()
        if time.perf_counter() < self._seen.until:
            self._ask(self._transport)
        else:
            self._transport.close()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if time.perf_counter() < self._seen.until:
            self._seen.errors["broken"] += 1
        if not self.ended.done():
            self.ended.set_result(None)

    def _ask(self, transport: asyncio.WriteTransport) -> None:
        self._sent = time.perf_counter()
        transport.write(self._requests[self._next % len(self._requests)])
        self._next += 1


def request_bytes(body: str, port: int) -> bytes:
    """Return a question as it goes over the wire."""
    data = body.encode()
    head = (
        f"POST {_PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


def parse_reply(buffer: bytes | bytearray) -> int | None:
    """Return the status once a reply is there as a whole; None before.

    Raises:
        ValueError: If the reply does not tell the length of its body.
    """
    end = buffer.find(_HEAD_END)
    if end < 0:
        return None
    head = bytes(buffer[:end]).lower()
    place = head.find(_LENGTH)
    if place < 0:
        message = f"a reply without Content-Length: {head[:200]!r}"
        raise ValueError(message)
    length = int(head[place + len(_LENGTH) :].split(b"\r\n", 1)[0])
    if len(buffer) < end + len(_HEAD_END) + length:
        return None
    return int(head.split(b" ", 2)[1])


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of all values are at most (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


async def offer_load(spec: LoadSpec) -> LoadReport:
    """Run the clients and return what they saw."""
    loop = asyncio.get_running_loop()
    requests = [request_bytes(body, spec.port) for body in spec.bodies]
    began = time.perf_counter()
    since = began + spec.warm_s
    seen = _Seen(since, since + spec.duration_s, spec.whole_if.encode())
    cpu_before = time.process_time()
    clients: list[Client] = []
    for number in range(spec.num_clients):
        _, client = await loop.create_connection(
            lambda first=number * _STRIDE: Client(requests, first, seen),  # type: ignore[misc]
            "127.0.0.1",
            spec.port,
        )
        clients.append(client)
    ended = asyncio.gather(*(client.ended for client in clients))
    await asyncio.wait_for(ended, spec.warm_s + spec.duration_s + _MOST_S)
    cpu = (time.process_time() - cpu_before) / (time.perf_counter() - began)
    count = len(seen.latencies_ms)
    return LoadReport(
        latencies_ms=seen.latencies_ms,
        errors=dict(seen.errors),
        requests_per_s=count / spec.duration_s,
        generator_cpu=cpu,
        reply_bytes=seen.num_bytes / count if count else 0.0,
    )


def load_in_process(spec: LoadSpec) -> LoadReport:
    """Run the clients in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.serve_load"],
        input=json.dumps(asdict(spec)),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if done.returncode != 0:
        message = f"the load generator failed: {done.stderr[-2000:]}"
        raise RuntimeError(message)
    return LoadReport(**json.loads(done.stdout))


def main() -> None:
    """Read what to do, do it, and write what was seen."""
    spec = LoadSpec(**json.load(sys.stdin))
    sys.stdout.write(json.dumps(asdict(asyncio.run(offer_load(spec)))))


if __name__ == "__main__":
    main()
