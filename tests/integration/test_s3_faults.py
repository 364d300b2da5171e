"""An S3 server behind a proxy that fails: the store recovers or says so, and never lies."""

import http.client
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from boto3.session import Session

from scp_ray.errors import (
    PreconditionFailedError,
    ScpRayError,
    StorageError,
    TransientStorageError,
)
from scp_ray.pipeline.diagnosis import honours_conditions
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.pipeline.verification import verify_index
from scp_ray.serve.models import QueryReply, QueryRequest
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage import s3
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import local_cache, open_store
from scp_ray.storage.publish import load_current
from scp_ray.storage.s3 import S3ObjectStore

pytestmark = pytest.mark.integration

FAULTS = ["500", "503", "slow 503", "cut before", "answer lost", "answer cut"]
SLOWNESS = ["late", "slow body"]  # no fault: the answer comes
STALLS = ["request stalled", "answer stalled", "body stalled"]
READ_TIMEOUT_S = 0.7  # of a client that is to find out a stalled server
Fault = Callable[[BaseHTTPRequestHandler], str | None]
_ANSWERS = {
    "500": (500, b"InternalError"),
    "503": (503, b"SlowDown"),
    "slow 503": (503, b"SlowDown"),
    "expired": (400, b"ExpiredToken"),
    "conflict": (409, b"ConditionalRequestConflict"),
}
_ERROR = b"<Error><Code>%b</Code><Message>injected</Message></Error>"


class Proxy(ThreadingHTTPServer):
    """Hands requests on to a server, unless ``fault`` says what is to go wrong with one."""

    daemon_threads = True

    def __init__(self, endpoint: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = endpoint.removeprefix("http://")
        self.fault: Fault = lambda _request: None
        self.num_faults = 0

    def handle_error(self, *_arguments: object) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.fault(self)
        self.server.num_faults += fault is not None
        if fault in _ANSWERS:
            self._refuse(fault)
        elif fault == "cut before":
            self.close_connection = True
        elif fault == "request stalled":
            self._stall()
        elif fault == "conditions ignored" and self.command == "PUT":
            self._put_whatever_is_there(body)
        else:
            self._hand_on(body, fault)

    def _refuse(self, fault: str) -> None:
        if fault.startswith("slow"):
            time.sleep(0.2)
        status, code = _ANSWERS[fault]
        text = _ERROR % code
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def _hand_on(self, body: bytes, fault: str | None) -> None:
        connection = http.client.HTTPConnection(self.server.upstream, timeout=60)
        connection.request(self.command, self.path, body or None, dict(self.headers.items()))
        response = connection.getresponse()
        data = response.read()
        connection.close()
        self.close_connection = fault in {"answer lost", "answer cut"}
        if fault == "answer lost":
            return
        if fault == "answer stalled":
            self._stall()
            return
        if fault == "late":
            time.sleep(0.1)
        if fault == "answer garbled":
            data = bytes(byte ^ 1 for byte in data)
        is_cut = fault in {"answer cut", "body stalled"}
        self._answer(response, data[: len(data) // 2] if is_cut else data, fault)

    def _stall(self) -> None:
        """Say nothing for longer than the client waits."""
        time.sleep(2 * READ_TIMEOUT_S)
        self.close_connection = True

    def _put_whatever_is_there(self, body: bytes) -> None:
        client = Session().client("s3", endpoint_url=f"http://{self.server.upstream}")
        bucket, _, key = self.path.removeprefix("/").partition("/")
        etag = client.put_object(Bucket=bucket, Key=key, Body=body)["ETag"]
        client.close()
        self.send_response(http.HTTPStatus.OK)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, response: http.client.HTTPResponse, data: bytes, fault: str | None) -> None:
        self.send_response_only(response.status)
        length = response.headers.get("Content-Length", str(len(data)))
        for name, value in response.headers.items():
            if name not in {"Content-Length", "Transfer-Encoding", "Connection"}:
                self.send_header(name, value)
        if response.status != http.HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", length)
        self.end_headers()
        if fault == "slow body":
            for byte in data[:100]:
                self.wfile.write(bytes([byte]))
                time.sleep(0.001)
            data = data[100:]
        self.wfile.write(data)
        if fault == "body stalled":
            self._stall()

    def log_message(self, *_arguments: object) -> None:
        pass

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle  # noqa: N815 - names of the library


@pytest.fixture
def proxy(s3_environment: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The proxy, to which the AWS SDK now goes; its pauses between tries are a tenth as long."""
    server = Proxy(s3_environment.endpoint)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    sleep = time.sleep
    hurried = SimpleNamespace(time=time.time, sleep=lambda seconds: sleep(seconds / 10))
    monkeypatch.setattr("botocore.endpoint.time", hurried)
    monkeypatch.setattr(s3, "time", hurried)
    yield server
    server.fault = lambda _request: None
    server.shutdown()
    thread.join()
    server.server_close()


def _first(count: int, fault: str) -> Fault:
    """Fail the first requests, and no more."""
    turns = iter([fault] * count)
    return lambda _request: next(turns, None)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_that_pass_are_not_noticed(
    proxy: Proxy, s3_address: str, tmp_path: Path, fault: str
) -> None:
    store = S3ObjectStore(s3_address)
    data = random.Random(0).randbytes(50_000)
    (tmp_path / "file").write_bytes(data)

    @contextmanager
    def faults(count: int) -> Iterator[None]:
        proxy.fault, before = _first(count, fault), proxy.num_faults
        yield
        assert proxy.num_faults == before + count

    writes = 0 if fault == "answer cut" else 2  # the answer to a write has no body
    with faults(writes):
        store.write("key", data)
    with faults(writes):
        store.upload(tmp_path / "file", "uploaded")
    with faults(2):
        assert store.read("key") == data
    with faults(2):
        store.download("uploaded", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == data
    with faults(2):
        assert [stored.key for stored in store.list()] == ["key", "uploaded"]
    with faults(writes):
        first = store.compare_and_swap("swapped", b"first", expected=None)
    with faults(writes):
        second = store.compare_and_swap("swapped", b"second", expected=first)
    assert store.read_versioned("swapped") == (b"second", second)
    with faults(writes):
        store.delete("key")
    assert [stored.key for stored in store.list()] == ["swapped", "uploaded"]


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_that_stay_end_with_a_typed_error(
    proxy: Proxy, s3_address: str, tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "_TRIES", 3)
    S3ObjectStore(s3_address).write("key", b"content")
    (tmp_path / "file").write_bytes(b"content")
    store = S3ObjectStore(s3_address)
    proxy.fault = lambda _request: fault
    calls = {
        "read": lambda: store.read("key"),
        "download": lambda: store.download("key", tmp_path / "copy"),
        "list": lambda: list(store.list()),
    }
    if fault != "answer cut":  # the answer to a write has no body
        calls |= {
            "write": lambda: store.write("key", b"content"),
            "upload": lambda: store.upload(tmp_path / "file", "key"),
            "swap": lambda: store.compare_and_swap("key", b"new", expected="other"),
        }
    for name, call in calls.items():
        with pytest.raises(TransientStorageError, match=s3_address):
            call()
        assert not (tmp_path / "copy").exists(), name
    proxy.fault = lambda _request: None
    assert store.read("key") == b"content"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients find out in a moment that a server says nothing."""
    monkeypatch.setattr(s3, "_READ_TIMEOUT_S", READ_TIMEOUT_S)


@pytest.mark.parametrize("fault", [*SLOWNESS, *STALLS])
@pytest.mark.usefixtures("impatient")
def test_slow_answers_are_waited_for_and_stalled_ones_asked_again(
    proxy: Proxy, s3_address: str, tmp_path: Path, fault: str
) -> None:
    store = S3ObjectStore(s3_address)
    data = random.Random(0).randbytes(5_000)
    (tmp_path / "file").write_bytes(data)
    has_body = fault not in {"body stalled", "slow body"}
    calls: dict[str, Callable[[], object]] = {
        "upload": lambda: store.upload(tmp_path / "file", "uploaded"),
        "read": lambda: store.read("uploaded"),
        "download": lambda: store.download("uploaded", tmp_path / "copy"),
        "list": lambda: [stored.key for stored in store.list()],
        "swap": lambda: store.compare_and_swap("swapped", b"first", expected=None),
    }
    found = {}
    for name, call in calls.items():
        proxy.fault = _first(1 if has_body or name not in {"upload", "swap"} else 0, fault)
        found[name] = call()
    assert proxy.num_faults == (5 if has_body else 3)
    assert found["read"] == (tmp_path / "copy").read_bytes() == data
    assert found["list"] == ["uploaded"]
    assert store.read_versioned("swapped") == (b"first", found["swap"])


@pytest.mark.parametrize("fault", STALLS)
@pytest.mark.usefixtures("impatient")
def test_server_that_says_nothing_more_is_given_up(
    proxy: Proxy, s3_address: str, tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "_TRIES", 2)
    S3ObjectStore(s3_address).write("key", b"content")
    store = S3ObjectStore(s3_address)
    proxy.fault = lambda _request: fault
    with pytest.raises(TransientStorageError, match=f"{s3_address}/key: "):
        store.read("key")
    with pytest.raises(TransientStorageError, match=f"{s3_address}/key: "):
        store.download("key", tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TransientStorageError, match=f"{s3_address}: not answered"):
        list(store.list())


def test_large_upload_survives_lost_parts(proxy: Proxy, s3_address: str, tmp_path: Path) -> None:
    data = random.Random(1).randbytes(17 * 1024 * 1024)
    (tmp_path / "large").write_bytes(data)
    turns = iter([None, "answer lost", "503", None, "cut before"])
    proxy.fault = lambda _request: next(turns, None)
    store = S3ObjectStore(s3_address)
    store.upload(tmp_path / "large", "large")
    assert proxy.num_faults == 3
    turns = iter(["answer cut", "answer cut"])
    store.download("large", tmp_path / "copy")
    assert proxy.num_faults == 5
    assert (tmp_path / "copy").read_bytes() == data


@pytest.mark.parametrize("fault", FAULTS)
def test_large_upload_survives_faults_at_its_end(
    proxy: Proxy, s3_address: str, tmp_path: Path, fault: str
) -> None:
    data = random.Random(2).randbytes(17 * 1024 * 1024)
    (tmp_path / "large").write_bytes(data)
    turns = iter([fault])

    def fail_completion(request: BaseHTTPRequestHandler) -> str | None:
        is_completion = request.command == "POST" and "uploadId" in request.path
        return next(turns, None) if is_completion else None

    proxy.fault = fail_completion
    store = S3ObjectStore(s3_address)
    store.upload(tmp_path / "large", "large")
    assert proxy.num_faults == 1
    assert store.read("large") == data


def test_swaps_under_faults_lose_and_double_nothing(proxy: Proxy, s3_address: str) -> None:
    """Writers append their names by compare-and-swap: each that was told "done" is there once."""
    rng, lock = random.Random(2), threading.Lock()

    def fault(_request: BaseHTTPRequestHandler) -> str | None:
        with lock:
            return rng.choice(FAULTS) if rng.random() < 0.25 else None

    S3ObjectStore(s3_address).write("names", b"start")
    proxy.fault = fault
    done: list[bytes] = []
    # Also a refused one: its write may have been done, its answer lost, and the object changed
    # again before it was asked about.
    unknown: list[bytes] = []

    def append(writer: int) -> None:
        store = S3ObjectStore(s3_address)
        for turn in range(8):
            name = b"%d-%d" % (writer, turn)
            try:
                data, version = store.read_versioned("names")
                store.compare_and_swap("names", data + b" " + name, expected=version)
                done.append(name)
            except (PreconditionFailedError, TransientStorageError):
                unknown.append(name)

    writers = [threading.Thread(target=append, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    proxy.fault = lambda _request: None
    found = S3ObjectStore(s3_address).read("names").split()[1:]
    assert proxy.num_faults >= 10
    assert len(done) >= 8
    assert len(found) == len(set(found))
    assert set(done) <= set(found) <= {*done, *unknown}


def test_conflict_of_two_writes_is_tried_again(
    proxy: Proxy, s3_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = S3ObjectStore(s3_address)
    proxy.fault = _first(2, "conflict")
    version = store.compare_and_swap("key", b"one", expected=None)
    assert proxy.num_faults == 2
    assert store.read_versioned("key") == (b"one", version)
    monkeypatch.setattr(s3, "_TRIES", 3)
    proxy.fault = lambda request: "conflict" if request.command == "PUT" else None
    with pytest.raises(TransientStorageError, match="409 .*try again later"):
        store.compare_and_swap("key", b"two", expected=version)
    assert store.read("key") == b"one"


def test_garbled_bytes_are_read_again(proxy: Proxy, s3_address: str, tmp_path: Path) -> None:
    """What was written by the AWS SDK has a checksum that it compares."""
    store = S3ObjectStore(s3_address)
    store.write("key", b"content")
    proxy.fault = _first(2, "answer garbled")
    assert store.read("key") == b"content"
    proxy.fault = _first(2, "answer garbled")
    store.download("key", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"content"
    assert proxy.num_faults == 4


def _write_credentials(path: Path, access_key: str, secret_key: str) -> None:
    keys = f"aws_access_key_id = {access_key}\naws_secret_access_key = {secret_key}\n"
    path.write_text(f"[default]\n{keys}")


def test_expired_credentials_are_looked_up_again(
    proxy: Proxy, s3_environment: Any, s3_address: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """Whatever renews them writes them to the file that the AWS SDK reads."""
    credentials, renewed = tmp_path / "credentials", threading.Event()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    _write_credentials(credentials, "old-key", "old-secret")

    def fault(request: BaseHTTPRequestHandler) -> str | None:
        if "old-key" not in request.headers["Authorization"]:
            return None
        if renewed.is_set():
            keys = (s3_environment.access_key, s3_environment.secret_key)
            _write_credentials(credentials, *keys)
        return "expired"

    proxy.fault = fault
    store = S3ObjectStore(s3_address)
    with pytest.raises(StorageError, match="400 ExpiredToken .*renew the credentials"):
        store.write("key", b"content")
    renewed.set()
    store.write("key", b"content")
    assert store.read("key") == b"content"


def test_store_that_ignores_conditions_is_found_out(proxy: Proxy, s3_address: str) -> None:
    store = S3ObjectStore(s3_address)
    assert honours_conditions(store)
    proxy.fault = lambda _request: "conditions ignored"
    assert not honours_conditions(store)
    assert store.is_empty()


Index = Callable[[str], None]
Now = Callable[[], Manifest]
QUESTION = QueryRequest(query="clean the pump filter", explain=True)


@pytest.fixture
def index(corpus: Path, small_settings: Callable[..., Any]) -> Index:
    """Index the corpus into an address, in this process."""

    def run(address: str) -> None:
        settings = small_settings("publish.lease_s=0.5")
        request = IndexRequest(str(corpus), address, settings)
        index_corpus(request, InProcessExecutor(), lambda _line: None)

    return run


def _seeded(seed: int, faults: list[str], share: float) -> Fault:
    """Let a share of the requests go wrong, one way or the other."""
    rng, lock = random.Random(seed), threading.Lock()

    def fault(_request: BaseHTTPRequestHandler) -> str | None:
        with lock:
            return rng.choice(faults) if rng.random() < share else None

    return fault


def test_run_succeeds_or_ends_with_a_typed_error(
    proxy: Proxy, s3_address: str, tmp_path: Path, index: Index
) -> None:
    """And the next run without faults makes the index that a run without any makes."""
    index(str(tmp_path / "index"))
    expected = load_current(open_store(str(tmp_path / "index")))
    proxy.fault = _seeded(0, FAULTS, 0.2)
    try:
        index(f"{s3_address}/index")
    except ScpRayError:
        proxy.fault = lambda _request: None
        index(f"{s3_address}/index")
    proxy.fault = lambda _request: None
    assert proxy.num_faults >= 5
    assert load_current(open_store(f"{s3_address}/index")).shards == expected.shards


@dataclass(frozen=True)
class Scene:
    """An index of one generation in S3, over which a changed corpus is to be indexed.

    Attributes:
        address: Of the index.
        now: Reads the current manifest past the proxy and checks that its files are there.
        before: The manifest.
        after: That of a run without faults over a local copy.
    """

    address: str
    now: Now
    before: Manifest
    after: Manifest

    def assert_old_or_new(self) -> Manifest:
        manifest = self.now()
        assert manifest.shards in (self.before.shards, self.after.shards)
        return manifest


@pytest.fixture
def scene(
    proxy: Proxy,
    s3_address: str,
    corpus: Path,
    tmp_path: Path,
    index: Index,
    write_manual: Callable[..., Path],
) -> Scene:
    """One of five manuals changes after the first generation."""
    for number in range(5, 12):
        (corpus / f"manual_{number:03d}.md").unlink()
    address = f"{s3_address}/index"
    straight = S3ObjectStore(address)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{proxy.upstream}")
        straight.is_empty()  # its client is made now, and goes there for good

    def now() -> Manifest:
        manifest = load_current(straight)
        sizes = {stored.key: stored.size_bytes for stored in straight.list()}
        for folder, files in manifest.folders.items():
            for name, file in files.items():
                assert sizes[f"{folder}/{name}"] == file.size_bytes
        return manifest

    index(address)
    index(str(tmp_path / "faultless"))
    write_manual(corpus, 3, 40)
    index(str(tmp_path / "faultless"))
    after = load_current(open_store(str(tmp_path / "faultless")))
    before = now()
    assert before.shards != after.shards
    return Scene(address, now, before, after)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("impatient")
def test_reindex_under_faults_shows_the_old_generation_or_the_new(
    proxy: Proxy, scene: Scene, index: Index, seed: int
) -> None:
    """Who reads at any moment finds one of them whole; in the end it is the new one."""
    faults = _seeded(seed, [*FAULTS, *SLOWNESS, *(STALLS if seed % 2 else [])], 0.3)
    seen, requests = [], count()

    def fault(request: BaseHTTPRequestHandler) -> str | None:
        if next(requests) % 5 == 0:
            seen.append(scene.now().shards)
        return faults(request)

    proxy.fault = fault
    try:
        index(scene.address)
    except ScpRayError:
        proxy.fault = lambda _request: None
        scene.assert_old_or_new()
        index(scene.address)
    proxy.fault = lambda _request: None
    assert proxy.num_faults >= 10
    assert len(seen) >= 5
    assert all(shards in (scene.before.shards, scene.after.shards) for shards in seen)
    assert scene.now().shards == scene.after.shards
    assert verify_index(open_store(scene.address), lambda _line: None) == []


def test_store_that_fails_from_some_moment_on_leaves_the_old_generation(
    proxy: Proxy, scene: Scene, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the moment; and the run after it is done."""
    monkeypatch.setattr(s3, "_TRIES", 2)
    for moment in (2, 12, 22, 32):
        requests = count()
        proxy.fault = lambda _request, first=moment, requests=requests: (
            "503" if next(requests) >= first else None
        )
        with pytest.raises(TransientStorageError, match="503"):
            index(scene.address)
        assert scene.now() == scene.before
    proxy.fault = lambda _request: None
    index(scene.address)
    assert scene.now().shards == scene.after.shards


def _expired_after(num_requests: int, renew: Callable[[], object]) -> Fault:
    """Refuse the credentials from some request on, until clients are made that read them again.

    The server knows one key only, so those clients are known by what they say of themselves.
    """
    requests = count()

    def fault(request: BaseHTTPRequestHandler) -> str | None:
        if next(requests) < num_requests or "app/renewed" in request.headers["User-Agent"]:
            return None
        renew()
        return "expired"

    return fault


@pytest.mark.parametrize("num_requests", [3, 20])
def test_run_goes_on_with_renewed_credentials(
    proxy: Proxy, scene: Scene, index: Index, num_requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.fault = _expired_after(
        num_requests, lambda: monkeypatch.setenv("AWS_SDK_UA_APP_ID", "renewed")
    )
    index(scene.address)
    assert proxy.num_faults >= 1
    assert scene.now().shards == scene.after.shards


def test_run_ends_when_its_credentials_are_not_renewed(
    proxy: Proxy, scene: Scene, index: Index
) -> None:
    """The old generation stays, and the next run is done."""
    for num_requests in (3, 12, 20):
        proxy.fault = _expired_after(num_requests, lambda: None)
        with pytest.raises(StorageError, match="400 ExpiredToken .*renew the credentials"):
            index(scene.address)
        assert scene.now() == scene.before
    proxy.fault = lambda _request: None
    index(scene.address)
    assert scene.now().shards == scene.after.shards


def test_questions_under_faults_are_answered_rightly_or_refused(
    proxy: Proxy,
    scene: Scene,
    tmp_path: Path,
    small_settings: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(s3, "_TRIES", 3)

    def answer() -> QueryReply:
        shutil.rmtree(local_cache(), ignore_errors=True)
        reply = LocalSearcher.open(scene.address, small_settings()).answer(QUESTION)
        return reply.model_copy(update={"timings_ms": {}})

    expected, outcomes = answer(), Counter[str]()
    for seed in range(6):
        kinds = [*FAULTS, *SLOWNESS, "answer garbled"]
        proxy.fault = _seeded(seed, kinds, 0.1 if seed % 2 else 0.4)
        try:
            assert answer() == expected
            outcomes["answered"] += 1
        except ScpRayError:
            outcomes["refused"] += 1
    assert outcomes["answered"] > 0
    assert outcomes["refused"] > 0
    proxy.fault = lambda _request: None
    assert answer() == expected
