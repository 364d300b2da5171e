"""Starts and stops the service on a Ray cluster."""

import signal
import threading
from collections.abc import Callable
from types import FrameType

from ray import serve
from ray.serve.config import HTTPOptions

from scp_ray.config import Settings
from scp_ray.serve.app import ServeArgs, build_app
from scp_ray.storage.opening import open_store

APP_NAME = "scp-ray"


def deploy(index: str, settings: Settings) -> str:
    """Deploy on the cluster that this process is in, wait until ready, and return the address.

    Raises:
        IndexFormatError: If there is no index, or this version cannot read it.
    """
    config = settings.serve
    serve.start(http_options=HTTPOptions(host=config.host, port=config.port))
    args = ServeArgs(index=open_store(index).url, settings=settings.model_dump(mode="json"))
    serve.run(build_app(args), name=APP_NAME, route_prefix="/")
    return f"http://{config.host}:{config.port}"


def serve_until_stopped(index: str, settings: Settings, tell: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then shut down in order."""
    stopped = threading.Event()
    address = deploy(index, settings)

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    tell(f"ready: {address} (interface: {address}/docs); Ctrl-C stops it")
    stopped.wait()
    tell("stopping")
    serve.shutdown()  # type: ignore[no-untyped-call]
