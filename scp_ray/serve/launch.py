"""Starts and stops the service on a Ray cluster."""

import http.client
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import ray
from ray import serve
from ray.serve.config import HTTPOptions, ProxyLocation

from scp_ray.config import Settings
from scp_ray.errors import ClusterError, InfeasiblePlanError
from scp_ray.sections import ServeConfig
from scp_ray.serve.app import ServeArgs, ServicePlan, app_of, plan_service
from scp_ray.serve.listener import bound_socket
from scp_ray.storage.opening import open_store

APP_NAME = "scp-ray"
_READY_S, _PROBE_S, _PAUSE_S = 120.0, 10.0, 0.05


def deploy(index: str, settings: Settings) -> str:
    """Deploy on the cluster that this process is in, wait until ready, and return the address.

    Raises:
        ConfigError: If there is no index, or it would be open to everybody.
        InfeasiblePlanError: If the cluster has too few CPUs for it.
        IndexFormatError: If this version cannot read the index.
        ClusterError: If the service does not get ready.
    """
    config = settings.serve
    args = ServeArgs(index=open_store(index).url, settings=settings.model_dump(mode="json"))
    num_nodes = sum(node["Alive"] for node in ray.nodes())  # type: ignore[no-untyped-call]
    plan = plan_service(args, is_direct=num_nodes == 1)
    _require_cpus(plan)
    _start_serve(plan)
    try:
        serve.run(app_of(plan), name=APP_NAME, route_prefix="/")
    except RuntimeError as error:
        message = f"the service of {index} did not start: {error}"
        raise ClusterError(message) from error
    _wait_until_ready(config)
    return f"http://{_reached_at(config.host)}:{config.port}"


def _start_serve(plan: ServicePlan) -> None:
    """Start Ray Serve, unless it runs in this cluster already.

    Raises:
        ConfigError: If somebody else has the port.
    """
    config = plan.served.settings.serve
    if not serve.status().applications:
        bound_socket(config.host, config.port, is_shared=False).close()
    if plan.served.is_direct:
        serve.start(proxy_location=ProxyLocation.Disabled)
    else:
        serve.start(http_options=HTTPOptions(host=config.host, port=config.port))


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


def _wait_until_ready(config: ServeConfig) -> None:
    connection = http.client.HTTPConnection(config.host, config.port, timeout=_PROBE_S)
    ends = time.monotonic() + _READY_S
    answer = "no answer"
    while time.monotonic() < ends:
        try:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            answer = response.read().decode(errors="replace")
            if response.status == http.HTTPStatus.OK:
                return
        except (OSError, http.client.HTTPException) as error:
            answer = str(error)
        finally:
            connection.close()
        time.sleep(_PAUSE_S)
    message = f"the service is not ready after {_READY_S:.0f} seconds: {answer}"
    raise ClusterError(message)


def _reached_at(host: str) -> str:
    return f"[{host}]" if ":" in host else host


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
