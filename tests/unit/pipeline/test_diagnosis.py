"""Probes of ports and stores."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from scp_ray.pipeline import diagnosis
from scp_ray.pipeline.diagnosis import CheckStatus, check_ray_port, honours_conditions
from scp_ray.testing import MemoryObjectStore


@contextmanager
def _answering(status: int) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, CheckStatus.FAILED), (401, CheckStatus.OK), (403, CheckStatus.OK)],
)
def test_dashboard_must_ask_for_a_token(
    status: int, expected: CheckStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _answering(status) as port:
        monkeypatch.setattr(diagnosis, "_DASHBOARD_PORT", port)
        check = check_ray_port("127.0.0.1", port, "dashboard")
    assert check.status is expected
    assert ("without a token" in check.detail) == (expected is CheckStatus.FAILED)


def test_closed_port_is_fine() -> None:
    with _answering(200) as port:
        pass
    assert check_ray_port("127.0.0.1", port, "GCS").detail == "closed"


class CarelessStore(MemoryObjectStore):
    """Takes every write, whatever was expected."""

    def compare_and_swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        del expected
        self.write(key, data)
        return self.read_versioned(key)[1]


def test_store_that_ignores_conditions_is_found_out() -> None:
    assert honours_conditions(MemoryObjectStore())
    assert not honours_conditions(CarelessStore())


def test_probe_leaves_nothing() -> None:
    store = MemoryObjectStore()
    honours_conditions(store)
    assert list(store.list()) == []
