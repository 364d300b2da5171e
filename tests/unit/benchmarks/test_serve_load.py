"""The load generator: what it sends, what it takes for an answer, and what it counts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from benchmarks.serve_load import LoadReport, LoadSpec, offer_load, parse_reply, percentile
from benchmarks.serve_load import request_bytes as request_of

Answer = Callable[[bytes], Awaitable[bytes]]
OK = b"HTTP/1.1 200 OK\r\nserver: x\r\ncontent-length: 4\r\n\r\nbody"
REFUSED = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno"


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[int]:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                writer.write(await answer(await reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionResetError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


def offered(
    answer: Answer, num_clients: int, *, warm_s: float = 0.0, whole_if: str = ""
) -> LoadReport:
    async def run() -> LoadReport:
        async with server(answer) as port:
            spec = LoadSpec(port, ['{"a":1}', "{}"], num_clients, warm_s, 0.15, whole_if)
            return await offer_load(spec)

    return asyncio.run(run())


@pytest.mark.parametrize("end", range(len(OK)))
def test_reply_counts_once_it_is_whole(end: int) -> None:
    assert parse_reply(OK[:end]) is None
    assert parse_reply(OK) == 200


def test_reply_of_unknown_length_is_refused() -> None:
    with pytest.raises(ValueError, match="without Content-Length"):
        parse_reply(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")


def test_request_tells_its_length_in_bytes() -> None:
    head, body = request_of('{"query": "Kühlung"}', 80).split(b"\r\n\r\n")
    assert body.decode() == '{"query": "Kühlung"}'
    assert f"Content-Length: {len(body)}".encode() in head


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_percentile_is_the_nearest_rank(share: float, expected: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == expected


def test_each_client_waits_for_its_answer_and_asks_again() -> None:
    waiting, most, bodies = 0, 0, set()

    async def answer(body: bytes) -> bytes:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        bodies.add(body)
        await asyncio.sleep(0.01)
        waiting -= 1
        return OK

    report = offered(answer, 3)
    assert (most, bodies) == (3, {b'{"a":1}', b"{}"})
    assert report.errors == {}
    assert 3 * 5 <= len(report.latencies_ms) <= 3 * 15
    assert min(report.latencies_ms) >= 10.0
    assert report.requests_per_s == pytest.approx(len(report.latencies_ms) / 0.15)
    assert report.reply_bytes == len(OK)


def test_answers_of_the_warm_up_do_not_count() -> None:
    num_asked = 0

    async def answer(_body: bytes) -> bytes:
        nonlocal num_asked
        num_asked += 1
        await asyncio.sleep(0.01)
        return OK

    report = offered(answer, 1, warm_s=0.15)
    assert len(report.latencies_ms) < 0.75 * num_asked


def test_other_statuses_are_errors_and_no_answers() -> None:
    async def answer(_body: bytes) -> bytes:
        await asyncio.sleep(0.02)
        return REFUSED

    report = offered(answer, 2)
    assert report.latencies_ms == []
    assert list(report.errors) == ["503"]
    assert report.errors["503"] >= 4


def test_answer_that_is_not_whole_is_an_error() -> None:
    bodies = [OK, OK.replace(b"body", b"half")]

    async def answer(_body: bytes) -> bytes:
        await asyncio.sleep(0.01)
        bodies.reverse()
        return bodies[0]

    report = offered(answer, 1, whole_if="body")
    assert abs(report.errors["partial"] - len(report.latencies_ms)) <= 2
    assert len(report.latencies_ms) >= 2


def test_broken_connection_is_an_error() -> None:
    async def answer(_body: bytes) -> bytes:
        raise ConnectionResetError

    assert offered(answer, 2).errors == {"broken": 2}
