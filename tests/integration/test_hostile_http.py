"""The HTTP interface under hostile clients: a real server, a real index, real sockets."""

import asyncio
import hashlib
import io
import json
import logging
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from scp_ray.config import Settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.serve.http_api import create_api
from scp_ray.serve.models import (
    DefaultsModel,
    IndexInfo,
    QueryReply,
    QueryRequest,
    ReloadModel,
    ReloadState,
)
from scp_ray.serve.searcher import LocalSearcher

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(500),
]

DIM = 32
MAX_BODY_BYTES = 100_000
BODY_TIMEOUT_S = 0.4
QUESTION = b'{"query": "How do I clean the pump of the K-104?", "top_k": 2}'
HEAD = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


CLOSE = b"Connection: close\r\n"

Answer = tuple[int, dict[str, str], bytes]


class LocalService:
    """A searcher of this process as the service; it can be told to think for a while."""

    def __init__(self, searcher: LocalSearcher) -> None:
        self._searcher = searcher
        self.most_seconds = 0.0
        self.begun = 0
        self.answered = 0
        self.cancelled = 0

    async def answer(self, request: QueryRequest) -> QueryReply:
        self.begun += 1
        try:
            await asyncio.sleep(random.uniform(0, self.most_seconds))
            reply = await asyncio.to_thread(self._searcher.answer, request)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.answered += 1
        return reply

    async def check(self) -> None:
        canary = QueryRequest(embedding=[1.0] * DIM, top_k=1)
        await asyncio.to_thread(self._searcher.answer, canary)

    async def reload(self) -> IndexInfo:
        return self.about()

    def about(self) -> IndexInfo:
        manifest = self._searcher.manifest
        return IndexInfo(
            generation=manifest.generation,
            created_at=manifest.created_at,
            documents=manifest.num_documents,
            chunks=manifest.num_chunks,
            shards=len(manifest.shards),
            groups=1,
            encoder=manifest.encoder.model,
            annotator=manifest.annotator_revision,
            settings_hash=manifest.settings_hash,
            defaults=DefaultsModel.of(Settings()),
            reload=ReloadModel(state=ReloadState.CURRENT, generation=1, reason=None),
        )


class Service:
    """A server on a port of its own, and what is asked of it over sockets."""

    def __init__(self, port: int, local: LocalService, api: Any) -> None:
        self.port = port
        self.local = local
        self.api = api
        self.url = f"http://127.0.0.1:{port}"

    @property
    def in_flight(self) -> int:
        return int(self.api.state.admission.in_flight)

    def connect(self, timeout: float = 10) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def send(self, data: bytes, quiet_s: float = 5.0) -> list[Answer]:
        """Send bytes, and return the answers until the server closes or is quiet for so long."""
        with self.connect() as connection:
            with suppress(BrokenPipeError, ConnectionResetError):  # closed before all was sent
                connection.sendall(data)
            return _answers(_read_all(connection, quiet_s))

    def statuses(self, data: bytes, quiet_s: float = 5.0) -> list[int]:
        """Send bytes, and return the statuses of the answers."""
        return [status for status, _, _ in self.send(data, quiet_s)]

    def post(self, body: bytes, *headers: bytes) -> httpx.Response:
        raw = [(b"Content-Type", b"application/json"), *(h.split(b": ", 1) for h in headers)]
        return httpx.post(f"{self.url}/v1/query", content=body, headers=raw, timeout=30)

    def is_well(self) -> bool:
        """Whether it answers a question, soon, and nothing is held."""
        started = time.monotonic()
        answer = self.post(QUESTION)
        return answer.status_code == 200 and time.monotonic() - started < 5 and not self.in_flight


def _read_all(connection: socket.socket, quiet_s: float) -> bytes:
    received = b""
    connection.settimeout(quiet_s)
    try:
        while piece := connection.recv(65_536):
            received += piece
    except (TimeoutError, ConnectionResetError):
        pass
    return received


class _Bytes:
    """Bytes in the place of a socket, for ``http.client``."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def makefile(self, _mode: str) -> Any:
        return self._file


def _answers(received: bytes) -> list[Answer]:
    """Parse the answers of one connection; what is no answer fails the test."""
    answers, file = [], io.BytesIO(received)
    file.close = lambda: None  # type: ignore[method-assign]
    while file.tell() < len(received):
        response = HTTPResponse(_Bytes(file))  # type: ignore[arg-type]
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        answers.append((response.status, headers, response.read()))
    return answers


@pytest.fixture(scope="module")
def searcher(
    tmp_path_factory: pytest.TempPathFactory,
    write_manual: Callable[..., Path],
    small_settings: Callable[..., Settings],
) -> LocalSearcher:
    """Five short manuals in three shards: long replies cost the checks of them."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "corpus").mkdir()
    for number in range(5):
        write_manual(folder / "corpus", number, sentences=20)
    index, settings = str(folder / "index"), small_settings()
    request = IndexRequest(str(folder / "corpus"), index, settings, allow_removals=False)
    index_corpus(request, InProcessExecutor(), lambda _line: None)
    return LocalSearcher.open(index, settings)


@contextmanager
def _serving(searcher: LocalSearcher, settings: Settings, http: str) -> Iterator[Service]:
    local = LocalService(searcher)
    api = create_api(local, settings)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        api, http=http, ws="none", lifespan="off", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield Service(listener.getsockname()[1], local, api)
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
    assert not thread.is_alive()


LIMITS = [f"serve.max_body_bytes={MAX_BODY_BYTES}", f"serve.body_timeout_s={BODY_TIMEOUT_S}"]


@pytest.fixture(scope="module", params=["httptools", "h11"])
def service(
    request: pytest.FixtureRequest,
    searcher: LocalSearcher,
    small_settings: Callable[..., Settings],
) -> Iterator[Service]:
    """A service of loopback without tokens, over both HTTP parsers of the server."""
    with _serving(searcher, small_settings(*LIMITS), request.param) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory,
    searcher: LocalSearcher,
    small_settings: Callable[..., Settings],
) -> Iterator[Service]:
    """A service that asks for tokens: ``ask`` for questions and ``rule`` for everything."""
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    lines = [
        f"{scope} {scope} {hashlib.sha256(secret).hexdigest()}\n"
        for scope, secret in (("query", b"ask"), ("admin", b"rule"))
    ]
    path.write_text("".join(lines))
    settings = small_settings(*LIMITS, f"serve.tokens_file={path}")
    with _serving(searcher, settings, "httptools") as running:
        yield running


@pytest.fixture(autouse=True)
def _no_error_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever is sent, nothing fails unforeseen in the server."""
    yield
    records = caplog.get_records("call")
    assert [record.getMessage() for record in records if record.levelno >= logging.ERROR] == []


def _is_problem(answer: httpx.Response, status: int) -> bool:
    is_json = answer.headers["content-type"] == "application/problem+json"
    return answer.status_code == status and is_json and answer.json()["status"] == status


SCHEMATHESIS = """
[[operations]]
include-path = "/v1/query/batch"
checks.negative_data_rejection.enabled = false
"""  # what is wrong with one question of a batch stands in its item

FUZZ_SEEDS = (1, 2, 3, 4, 5)  # one seed with more cases is slower than several with 100


def _document(service: Service) -> dict[str, Any]:
    """Return the service's own document, with the one thing that it cannot know of an index."""
    document: dict[str, Any] = httpx.get(f"{service.url}/openapi.json").json()
    fields = document["components"]["schemas"]["QueryRequest"]["properties"]
    fields["embedding"]["anyOf"][0] = {
        "type": "array",
        "items": {"type": "number", "minimum": 0.5, "maximum": 2.0},
        "minItems": DIM,
        "maxItems": DIM,
    }
    return document


def _run_schemathesis(service: Service, folder: Path, *options: str) -> int:
    """Check the service against its document, and return the number of cases."""
    (folder / "openapi.json").write_text(json.dumps(_document(service)))
    (folder / "schemathesis.toml").write_text(SCHEMATHESIS)
    command = [sys.executable, "-m", "schemathesis.cli", "run", "openapi.json"]
    command += ["--url", service.url, "--no-shrink", "--continue-on-failure"]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=400, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    count = re.search(r"(\d+) generated", done.stdout)
    assert count is not None, done.stdout
    return int(count[1])


def test_document_holds_under_two_thousand_cases(
    searcher: LocalSearcher,
    guarded: Service,
    small_settings: Callable[..., Settings],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    short = small_settings(*LIMITS, "serve.max_query_characters=200")
    with _serving(searcher, short, "httptools") as service:
        cases = _run_schemathesis(service, tmp_path, "--phases", "examples,coverage")
        for seed in FUZZ_SEEDS:
            fuzzing = ["--phases", "fuzzing", "--max-examples", "100", "--seed", str(seed)]
            cases += _run_schemathesis(service, tmp_path, *fuzzing)
        assert service.is_well()
    token = ["--header", "Authorization: Bearer rule"]
    more = _run_schemathesis(guarded, tmp_path, "--phases", "examples,coverage", *token)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{cases} cases without tokens, {more} with: no server error, all as documented\n"
        )
    assert cases + more >= 2000
    assert guarded.in_flight == 0


def test_announced_excess_is_refused_unread(service: Service) -> None:
    for length in (b"100001", b"99999999999999999"):
        ((status, headers, _),) = service.send(HEAD + b"Content-Length: " + length + b"\r\n\r\n")
        assert (status, headers["connection"]) == (413, "close")
    expecting = HEAD + b"Expect: 100-continue\r\nContent-Length: 100001\r\n\r\n"
    ((status, _, _),) = service.send(expecting)
    assert status == 413
    assert service.is_well()


def test_endless_body_is_cut_off(service: Service) -> None:
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    sent = 0
    with service.connect() as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        try:
            while sent < 100 * MAX_BODY_BYTES:
                connection.sendall(chunk)
                sent += 0x4000
                time.sleep(0.001)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert MAX_BODY_BYTES < sent < 100 * MAX_BODY_BYTES
    pieces = (b"a\r\n" + b" " * 10 + b"\r\n") * (MAX_BODY_BYTES // 10 + 1)
    ((status, headers, _),) = service.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + pieces)
    assert (status, headers["connection"]) == (413, "close")
    assert service.is_well()


def test_body_at_the_limit_is_taken(service: Service) -> None:
    assert service.post(QUESTION.ljust(MAX_BODY_BYTES)).status_code == 200
    assert _is_problem(service.post(QUESTION.ljust(MAX_BODY_BYTES + 1)), 413)


BIG = b"9" * 4000
MALFORMED = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{",
    b'{"query": "x"',
    b'{"query": "x"} trailing',
    b"{'query': 'x'}",
    b'{"query": "x", "query": 5}',
    b'{"query": "x", "lexical_weight": NaN}',
    b'{"query": "x", "lexical_weight": Infinity}',
    b'{"query": "x", "lexical_weight": 1e400}',
    b'{"query": "x", "filter": {"metadata.a": NaN}}',
    b'{"query": "x", "filter": {"metadata.a": null}}',
    b'{"query": "x", "filter": {"\\ud800": 1}}',
    b'{"query": "x", "filter": {"metadata.a": "\\udc00"}}',
    b'{"query": "pump \\ud800"}',
    b'{"query": "\xff\xfe"}',
    b'{"query": "\xed\xa0\x80"}',
    b'{"query": "\xc0\xaf"}',
    '{"query": "x"}'.encode("utf-16"),
    '{"query": "x"}'.encode("utf-32"),
    b"\xef\xbb\xbf" + QUESTION,
    b'{"query": "x\n"}',
    b'{"query": "x", "top_k": "5"}',
    b'{"query": "x", "top_k": 5.5}',
    b'{"query": "x", "top_k": true}',
    b'{"query": "x", "top_k": [5]}',
    b'{"query": "x", "top_k": ' + BIG + b"}",
    b'{"query": "x", "top_k": -' + BIG + b"}",
    b'{"query": "x", "min_index_gap": ' + b"9" * 10_000 + b"}",
    b'{"query": "x", "deadline_ms": ' + BIG + b"}",
    b'{"query": "x", "explain": "yes"}',
    b'{"query": "x", "exact": 1}',
    b'{"query": 5}',
    b'{"query": ["x"]}',
    b'{"query": {"text": "x"}}',
    b'{"query": " \xc2\xa0\xe2\x80\x83 "}',
    b'{"query": null, "embedding": null}',
    b'{"embedding": []}',
    b'{"embedding": [' + b", ".join([BIG] * 20) + b"]}",
    b'{"embedding": [' + b", ".join([b"0"] * DIM) + b"]}",
    b'{"embedding": [' + b", ".join([b"1"] * (DIM + 1)) + b"]}",
    b'{"embedding": [' + b", ".join([b'"1"'] * DIM) + b"]}",
    b'{"query": "x", "filter": ' + b'{"a":' * 150 + b"1" + b"}" * 151,
    b"[" * 90_000,
    b'{"query":' * 9_000,
    b'{"query": "x", "filter": {"doc_id": ' + b"[" * 150 + b"]" * 150 + b"}}",
    b'{"query": "x", "filter": {"doc_id": {}}}',
    b'{"query": "x", "filter": {"doc_id": {"gte": 1, "lt": "a"}}}',
    b'{"query": "x", "filter": {"doc_id": {"between": ' + BIG + b"}}}",
    b'{"query": "x", "filter": {"metadata.": 1}}',
    b'{"query": "x", "filter": [1]}',
    b'{"query": "x", "__proto__": {}}',
    b"{" + b",".join(b'"k%d": 1' % number for number in range(8000)) + b"}",
    b'{"query": "' + b"x" * 10_001 + b'"}',
]


def test_malformed_questions_are_refused_with_the_reason(service: Service) -> None:
    for body in MALFORMED:
        answer = service.post(body)
        assert _is_problem(answer, 422), (body[:80], answer.status_code, answer.text[:300])
        problem = answer.json()
        assert 0 < len(problem["detail"]) < 2100
        answer = httpx.post(
            f"{service.url}/v1/query/batch",
            content=b'{"queries": [' + body + b", " + QUESTION + b"]}",
            headers={"Content-Type": "application/json"},
            timeout=30,
        )
        if answer.status_code == 200:
            first, second = answer.json()["items"]
            assert first["problem"]["status"] == 422
            assert second["reply"]["results"]
        else:
            assert _is_problem(answer, 422), body[:80]
    assert service.is_well()


ODD = [
    b'{"embedding": [' + b", ".join([b"1e-320"] * DIM) + b"]}",
    b'{"embedding": [' + b", ".join([b"1e308"] * DIM) + b"]}",
    b'{"query": "\\u0000"}',
    b'{"query": "' + b"\\u0301" * 10_000 + b'"}',
    b'{"query": "\\u202e\\u200b", "top_k": 1000, "explain": true, "exact": true}',
    b'{"query": "' + "😀".encode() * 10_000 + b'"}',
    b'{"query": "x", "min_index_gap": ' + BIG + b"}",
    b'{"query": "x", "filter": {"doc_id": ' + BIG + b"}}",
    b'{"query": "x", "filter": {"doc_id": {"gte": -' + BIG + b"}}}",
    b'{"query": "x", "filter": {"metadata.\\u0000": [1e400, true, "\\u0000"]}}',
    b'{"query": "x", "max_context_tokens": 100000}',
    b'{"query": "<script>alert(1)</script> \' OR 1=1 -- ${jndi:ldap://x}"}',
    b'{"query": "x", "deadline_ms": 1}',
]


def test_odd_questions_are_answered(service: Service) -> None:
    for body in ODD:
        answer = service.post(body)
        assert answer.status_code == 200, (body[:80], answer.text[:300])
        assert answer.json()["generation"] == 1


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [b"Content-Type: text/plain"],
        [b"Content-Type: application/x-www-form-urlencoded"],
        [b"Content-Type: application/json; charset=utf-16"],
        [b"Content-Type: application/json\r\nContent-Encoding: gzip"],
        [b"Content-Type: \xff\xfe"],
    ],
)
def test_what_is_not_called_json_is_refused(service: Service, headers: list[bytes]) -> None:
    length = b"Content-Length: %d" % len(QUESTION)
    first = [b"POST /v1/query HTTP/1.1", b"Host: localhost", b"Connection: close"]
    data = b"\r\n".join([*first, length, *headers, b"", QUESTION])
    assert service.statuses(data) == [415]


def test_trickled_bodies_are_told_408_while_others_are_answered(service: Service) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(service.connect()) for _ in range(50)]
        for connection in slow:
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(QUESTION))
        until = time.monotonic() + 0.7 * BODY_TIMEOUT_S
        sent = 0
        while time.monotonic() < until:
            for connection in slow:
                connection.send(QUESTION[sent : sent + 1])
            sent += 1
            assert service.post(QUESTION).status_code == 200
            time.sleep(0.02)
        assert 1 < sent < len(QUESTION)
        assert service.in_flight == 0
        for connection in slow:
            ((status, headers, _),) = _answers(_read_all(connection, 5))
            assert (status, headers["connection"]) == (408, "close")
    assert service.is_well()


def test_headers_that_never_end_hold_no_place(service: Service) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(service.connect()) for _ in range(100)]
        for line in (b"POST /v1/query HTTP/1.1\r\n", b"X: y\r\n", b"X: y\r\n"):
            for connection in slow:
                connection.sendall(line)
            assert service.is_well()


def test_bytes_after_a_question_do_not_change_its_answer(service: Service) -> None:
    asked = HEAD + b"Content-Length: %d\r\n\r\n" % len(QUESTION) + QUESTION
    for garbage in (b"GARBAGE\r\n\r\n", b"\x00\xff" * 50, b"GET / HTTP/9.9\r\n\r\n"):
        answers = service.send(asked + garbage, quiet_s=1)
        statuses = [status for status, _, _ in answers]
        assert statuses in ([200, 400], [200, 421], [400]), garbage
        if statuses[0] == 200:
            assert json.loads(answers[0][2])["generation"] == 1
    assert service.statuses(asked * 5, quiet_s=1) == [200] * 5
    one_longer = HEAD + b"Content-Length: %d\r\n\r\n" % (len(QUESTION) - 1) + QUESTION
    assert service.statuses(one_longer, quiet_s=0.5) in ([422], [422, 400], [400])


SMUGGLED = [
    b"Content-Length: 5\r\nContent-Length: 62\r\n",
    b"Content-Length: 62\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\nContent-Length: 62\r\n",
    b"Content-Length: -62\r\n",
    b"Content-Length: +62\r\n",
    b"Content-Length: 6 2\r\n",
    b"Content-Length: 0x3e\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    b"Content-Length : 62\r\n",
    b" Folded: header\r\nContent-Length: 62\r\n",
    b"Bad\x00Name: x\r\nContent-Length: 62\r\n",
    b"X: " + b"y" * 200_000 + b"\r\nContent-Length: 62\r\n",
]


@pytest.mark.parametrize("framing", SMUGGLED, ids=lambda framing: repr(framing[:40]))
def test_two_ways_to_read_a_request_never_make_two_answers(
    service: Service, framing: bytes
) -> None:
    hidden = b"GET /v1/index HTTP/1.1\r\nHost: localhost\r\n" + CLOSE + b"\r\n"
    statuses = service.statuses(HEAD + framing + b"\r\n" + QUESTION + hidden, quiet_s=1)
    assert set(statuses) <= {200, 400, 408, 413, 415, 422}
    assert service.is_well()


def test_random_bytes_and_mutated_requests_do_no_harm(service: Service) -> None:
    rng = random.Random(20_261_130)
    good = HEAD + b"Content-Length: %d\r\n\r\n" % len(QUESTION) + QUESTION
    for _ in range(150):
        data = bytearray(rng.randbytes(rng.randrange(1, 400)) if rng.random() < 0.3 else good)
        for _ in range(rng.randrange(8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with service.connect() as connection:
            connection.sendall(bytes(data))
            connection.shutdown(socket.SHUT_WR)
            received = _read_all(connection, 2)
        assert not re.search(rb"HTTP/1\.1 5\d\d ", received), bytes(data)
    assert service.is_well()


def test_only_a_known_token_of_the_scope_is_let_in(guarded: Service) -> None:
    for token in (
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer wrong",
        b"Bearer ask rule",
        b"Bearer \xff\xfe\x80",
        b"Bearer \xc3\xa9",
        b"Basic YXNrOmFzaw==",
        b"Token rule",
        b"Bearer " + b"x" * 50_000,
        b"Bearer " + hashlib.sha256(b"rule").hexdigest().encode(),
        b"Bearer rule\r\nAuthorization: Bearer rule",
        b"Bearer wrong\r\nX-Forwarded-User: admin\r\nX-Original-URL: /healthz",
    ):
        for method, path in ((b"POST", b"/v1/admin/reload"), (b"GET", b"/v1/index")):
            head = method + b" " + path + b" HTTP/1.1\r\nHost: search.example\r\n"
            head += CLOSE + b"Content-Length: 0\r\nAuthorization: " + token + b"\r\n\r\n"
            ((status, headers, _),) = guarded.send(head)
            assert (status, headers["www-authenticate"]) == (401, "Bearer"), token
    for token, expected in ((b"ask", 403), (b"rule", 200)):
        answer = httpx.post(
            f"{guarded.url}/v1/admin/reload", headers={b"Authorization": b"Bearer " + token}
        )
        assert answer.status_code == expected
        assert guarded.post(QUESTION, b"Authorization: Bearer " + token).status_code == 200


def test_no_spelling_of_a_path_passes_the_guard(guarded: Service) -> None:
    for path in (
        b"/v1/index/",
        b"//v1/index",
        b"/./v1/index",
        b"/healthz/../v1/index",
        b"/static/../v1/index",
        b"/static/%2e%2e/v1/index",
        b"/docs/..%2fv1/index",
        b"/%76%31/index",
        b"/V1/INDEX",
        b"/v1/index%00",
        b"/v1/index?a=/healthz",
        b"/v1/index;/healthz",
        b"http://localhost/v1/index",
        b"/static/..%5c..%5cpage.py",
        b"/docs/../../../../etc/passwd",
    ):
        head = b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n"
        assert guarded.statuses(head + CLOSE + b"\r\n") in ([401], [404], [400]), path


def test_stranger_sends_no_body(guarded: Service) -> None:
    head = HEAD + CLOSE + b"Content-Length: 99999\r\n\r\n"
    assert guarded.statuses(head + b"{") == [401]


HOSTS = [
    b"evil.example",
    b"evil.example:80",
    b"127.0.0.1.evil.example",
    b"localhost.evil.example",
    b"localhost@evil.example",
    b"evil.example#localhost",
    b"localhost, evil.example",
    b"0.0.0.0",
    b"[::]",
    b"[::ffff:10.0.0.1]",
    b"2130706433",
    b"127.1",
    b"loc\xc3\xa4lhost",
    b"",
    b"localhost\r\nHost: evil.example",
]


def test_rebound_names_are_not_answered(service: Service) -> None:
    for host in HOSTS:
        for path in (b"/v1/index", b"/", b"/healthz"):
            head = b"GET " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n"
            assert service.statuses(head + CLOSE + b"\r\n") in ([421], [400]), host
    for version in (b"1.0", b"1.1"):
        head = b"GET /v1/index HTTP/" + version + b"\r\n" + CLOSE
        assert service.statuses(head + b"\r\n") in ([421], [400])
        forwarded = head + b"Host: evil.example\r\nX-Forwarded-Host: localhost\r\n\r\n"
        assert service.statuses(forwarded) == [421]
    for host in (b"localhost", b"127.0.0.1:%d" % service.port, b"[::1]:80", b"LOCALHOST:1"):
        head = b"GET /v1/index HTTP/1.1\r\nHost: " + host + b"\r\n"
        assert service.statuses(head + CLOSE + b"\r\n") == [200], host


def test_every_answer_has_the_security_headers(service: Service) -> None:
    answers = [
        service.post(QUESTION),
        service.post(b"{"),
        httpx.get(f"{service.url}/nothing"),
        httpx.get(f"{service.url}/"),
        httpx.get(f"{service.url}/docs"),
        httpx.request("TRACE", f"{service.url}/v1/query"),
        httpx.get(f"{service.url}/v1/index", headers={"Host": "evil.example"}),
    ]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"


def _cut(service: Service, rng: random.Random, body: bytes, path: bytes) -> None:
    """Ask, and cut the connection at some moment, mostly while the question is answered."""
    head = HEAD.replace(b"/v1/query", path)
    data = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with service.connect() as connection:
        if rng.random() < 0.5:  # the server is told with a reset, else with an orderly end
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        connection.sendall(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)
        time.sleep(rng.uniform(0, 0.04))


def test_work_ends_with_its_client(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    local, rng = service.local, random.Random(5)
    local.most_seconds = 0.2
    before = local.begun, local.answered, local.cancelled
    batch = b'{"queries": [' + b", ".join([QUESTION] * 3) + b"]}"
    calls = [(QUESTION, b"/v1/query"), (batch, b"/v1/query/batch")]
    threads = [
        threading.Thread(target=_cut, args=(service, rng, *calls[number % 2]))
        for number in range(200)
    ]
    for start in range(0, len(threads), 20):
        for thread in threads[start : start + 20]:
            thread.start()
        for thread in threads[start : start + 20]:
            thread.join()
    until = time.monotonic() + 10
    while service.in_flight and time.monotonic() < until:
        time.sleep(0.01)
    local.most_seconds = 0.0
    begun, answered, cancelled = (
        now - then
        for now, then in zip((local.begun, local.answered, local.cancelled), before, strict=True)
    )
    with capsys.disabled():
        sys.stdout.write(
            f"\n200 cut connections: {begun} questions, {answered} answered, {cancelled} ended\n"
        )
    assert service.in_flight == 0
    assert begun == answered + cancelled
    assert cancelled >= 100
    assert service.is_well()
