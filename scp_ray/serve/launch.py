"""Starts and stops the service on a Ray cluster."""

import fcntl
import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import ray
from ray import serve
from ray.serve.config import HTTPOptions, ProxyLocation

from scp_ray.config import Settings
from scp_ray.errors import ClusterError, ConfigError, InfeasiblePlanError
from scp_ray.serve.app import COORDINATOR, ServeArgs, ServicePlan, app_of, plan_service
from scp_ray.serve.listener import bound_socket
from scp_ray.serve.tokens import TokenFile
from scp_ray.storage.opening import open_store

APP_NAME = "scp-ray"
_LOGGER = logging.getLogger("scp_ray.serve")
_READY_S, _PROBE_S, _PAUSE_S, _LOOK_S = 120.0, 10.0, 0.05, 2.0
_DRAIN_S = 20.0  # as long as Serve gives a replica to end
_ANY_HOST = {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound


def deploy(index: str, settings: Settings) -> str:
    """Deploy on the cluster that this process is in, wait until ready, and return the address.

    Raises:
        ConfigError: If there is no index, or it would be open to everybody.
        InfeasiblePlanError: If the cluster has too few CPUs for it.
        IndexFormatError: If this version cannot read the index.
        ClusterError: If the service does not get ready.
    """
    config = settings.serve
    args = _arguments(index, settings)
    num_nodes = sum(node["Alive"] for node in ray.nodes())  # type: ignore[no-untyped-call]
    plan = plan_service(args, is_direct=num_nodes == 1)
    _require_cpus(plan)
    _start_serve(plan)
    try:
        serve.run(app_of(plan), name=APP_NAME, route_prefix="/")
        _wait_until_ready()
    except RuntimeError as error:
        message = f"the service of {index} did not start: {_reason(error)}"
        _stop()
        raise ClusterError(message) from error
    except ClusterError:
        _stop()
        raise
    return f"http://{_reached_at(config.host)}:{config.port}"


def require_servable(index: str, settings: Settings) -> None:
    """Refuse what needs no cluster to be seen as wrong.

    Raises:
        ConfigError: If there is no index, the port is taken, the file of tokens cannot be used, or
            the service would be open to everybody.
        IndexFormatError: If this version cannot read the index.
    """
    config = settings.serve
    plan_service(_arguments(index, settings), is_direct=True)
    if config.tokens_file is not None:
        TokenFile(config.tokens_file)
    bound_socket(config.host, config.port, is_shared=False).close()


def _arguments(index: str, settings: Settings) -> ServeArgs:
    return ServeArgs(index=open_store(index).url, settings=settings.model_dump(mode="json"))


def _start_serve(plan: ServicePlan) -> None:
    """Start Ray Serve.

    Raises:
        ConfigError: If this cluster has a service already, or somebody else has the port.
    """
    config = plan.served.settings.serve
    logging.getLogger("ray.serve").setLevel(logging.WARNING)  # it tells of ports that are not ours
    if APP_NAME in serve.status().applications:
        message = "a service runs in this cluster already; stop it, or use another cluster"
        raise ConfigError(message)
    bound_socket(config.host, config.port, is_shared=False).close()
    if plan.served.is_direct:
        serve.start(proxy_location=ProxyLocation.Disabled)
    else:
        serve.start(http_options=HTTPOptions(host=config.host, port=config.port))


def _reason(error: RuntimeError) -> str:
    """Return what a replica that does not start says, where Serve knows it."""
    status = serve.status().applications.get(APP_NAME)
    told = [one.message for one in status.deployments.values() if one.message] if status else []
    lines = [line for text in told for line in text.splitlines() if "Error: " in line]
    return lines[-1].strip() if lines else str(error)


def _require_cpus(plan: ServicePlan) -> None:
    """Refuse what would wait for ever; what an autoscaler can give is not known here."""
    num_cpus = ray.cluster_resources().get("CPU", 0.0)  # type: ignore[no-untyped-call]
    if plan.num_cpus > num_cpus and not plan.served.settings.cluster.nodes:
        message = (
            f"the service reserves {plan.num_cpus:g} CPUs ({plan.num_replicas}) and the cluster "
            f"has {num_cpus:g}; lower serve.cpus_per_replica, or raise "
            "serve.memory_per_replica_mb so that it has fewer groups"
        )
        raise InfeasiblePlanError(message)


def _wait_until_ready() -> None:
    """Ask a front, wherever it runs, until it can search every shard."""
    front = serve.get_app_handle(APP_NAME)
    ends = time.monotonic() + _READY_S
    reason = "no answer"
    while time.monotonic() < ends:
        try:
            front.check.remote().result(timeout_s=_PROBE_S)
        except Exception as error:  # noqa: BLE001 - Serve raises many kinds; it has until the end
            reason = repr(getattr(error, "cause", error))
            time.sleep(_PAUSE_S)
        else:
            return
    message = f"the service is not ready after {_READY_S:.0f} seconds: {reason}"
    raise ClusterError(message)


def _reached_at(host: str) -> str:
    if host in _ANY_HOST:
        return "localhost"
    return f"[{host}]" if ":" in host else host


def serve_until_stopped(index: str, settings: Settings, tell: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then shut down in order.

    Raises:
        ScpRayError: As ``deploy``.
        ClusterError: If the service has gone without being stopped from here.
    """
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with port_of_this_process(settings.serve.port):
        address = deploy(index, settings)
        tell(f"ready: {address} (interface: {address}/docs); Ctrl-C stops it")
        while not stopped.wait(_LOOK_S):
            if APP_NAME not in serve.status().applications:
                message = "the service was ended by somebody else"
                raise ClusterError(message)
        tell("stopping")
        _drain()
        _stop()


@contextmanager
def port_of_this_process(port: int) -> Iterator[None]:
    """Keep other services of this machine from sharing the port, which fronts may do.

    Raises:
        ConfigError: If another one has it.
    """
    path = Path(tempfile.gettempdir(), f"scp-ray-{os.getuid()}-{port}.lock")
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            message = f"another service of this machine has port {port}; choose another --port"
            raise ConfigError(message) from error
        yield


def _drain() -> None:
    """Have the fronts answer what they have and take no more, while all else still runs."""
    coordinator = serve.get_deployment_handle(COORDINATOR, APP_NAME)
    try:
        coordinator.drain.remote().result(timeout_s=_DRAIN_S)
    except Exception as error:  # noqa: BLE001 - Serve raises many kinds; it is stopped all the same
        reason = repr(getattr(error, "cause", error))
        _LOGGER.warning("stopping while questions are being answered: %s", reason)


def _stop() -> None:
    """End the service, and Ray Serve where nobody else uses it."""
    if set(serve.status().applications) <= {APP_NAME}:
        # The proxies go too, which else told clients for a while that the paths do not exist.
        serve.shutdown()  # type: ignore[no-untyped-call]
    else:
        serve.delete(APP_NAME)
