"""The Ray Serve application: a coordinator, shard groups, encoders and HTTP fronts.

Deployments are bound to addresses and settings only; each opens what it needs in its own process.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict
from ray import serve
from ray.serve import Application, Deployment

from scp_ray.config import settings_from_tree
from scp_ray.errors import ConfigError
from scp_ray.sections import HttpServer
from scp_ray.serve.coordinator import GenerationCoordinator
from scp_ray.serve.front import Front, group_name
from scp_ray.serve.generation_board import FRONT
from scp_ray.serve.replicas import EncoderReplica, GroupReplica, ServedIndex
from scp_ray.serve.shard_map import ShardMap
from scp_ray.serve.tokens import require_tokens_or_loopback
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import GenerationEntry, read_state

COORDINATOR, _ENCODER = "coordinator", "encoder"
_MANY = 10_000  # requests; what bounds the work is ``serve.max_in_flight``


class ServeArgs(BaseModel):
    """Arguments of the application, as ``serve_config.yaml`` gives them.

    Attributes:
        index: Address of the index.
        settings: Settings tree; what is left out has its default.
    """

    model_config = ConfigDict(extra="forbid")

    index: str
    settings: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """What is to be deployed.

    Attributes:
        served: The index.
        first: The generation that it starts with.
        num_replicas: Replicas of each deployment but the coordinator.
    """

    served: ServedIndex
    first: GenerationEntry
    num_replicas: dict[str, int]

    @property
    def num_cpus(self) -> float:
        """CPUs that Ray has to reserve."""
        return sum(self.num_replicas.values()) * self.served.settings.serve.cpus_per_replica


def plan_service(args: ServeArgs, *, is_direct: bool) -> ServicePlan:
    """Plan the service of the current generation of an index.

    Args:
        args: Where the index is, and how to serve it.
        is_direct: Whether fronts listen themselves, if the settings leave that open.

    Raises:
        ConfigError: If a setting is wrong or would have no effect, or there is no index.
        IndexFormatError: If this version cannot read it.
    """
    settings = settings_from_tree(args.settings)
    config = settings.serve
    require_tokens_or_loopback(settings)
    state = read_state(open_store(args.index))
    entry = state.current.entry if state.current else None
    if entry is None or state.manifest is None:
        message = f"{args.index}: no index here; build one with `scp-ray index`"
        raise ConfigError(message)
    shard_map = ShardMap.of(state.manifest, settings)
    num_replicas = {FRONT: config.num_fronts}
    if len(shard_map.groups) > 1:  # else every front holds all shards
        names = map(group_name, range(len(shard_map.groups)))
        num_replicas |= dict.fromkeys(names, config.replicas_per_group)
    elif config.replicas_per_group > 1:
        message = (
            f"serve.replicas_per_group is {config.replicas_per_group}, and there are no groups: "
            "every front holds all shards; set serve.num_fronts instead"
        )
        raise ConfigError(message)
    if config.num_encoders:
        num_replicas[_ENCODER] = config.num_encoders
    if config.http_server is not HttpServer.AUTO:
        is_direct = config.http_server is HttpServer.FRONT
    served = ServedIndex(args.index, settings, shard_map, is_direct)
    return ServicePlan(served, entry, num_replicas)


def build_app(args: ServeArgs) -> Application:
    """Return the application over an index, as ``serve deploy`` asks; see ``plan_service``."""
    return app_of(plan_service(args, is_direct=False))


def app_of(plan: ServicePlan) -> Application:
    """Return the application of a plan."""
    served, num_replicas = plan.served, plan.num_replicas
    cpus = served.settings.serve.cpus_per_replica
    coordinator = _deployment(GenerationCoordinator, COORDINATOR, 1, cpus=0.0).bind(
        served.index, plan.first, served.settings, num_replicas
    )

    def bound(kind: type, name: str, *arguments: object) -> Application:
        return _deployment(kind, name, num_replicas[name], cpus=cpus).bind(served, *arguments)

    groups = [name for name in num_replicas if name not in {FRONT, _ENCODER}]
    return bound(
        Front,
        FRONT,
        coordinator,
        [bound(GroupReplica, name, number, coordinator) for number, name in enumerate(groups)],
        bound(EncoderReplica, _ENCODER, coordinator) if _ENCODER in num_replicas else None,
    )


def _deployment(kind: type, name: str, num_replicas: int, *, cpus: float) -> Deployment:
    make = serve.deployment(
        name=name,
        num_replicas=num_replicas,
        max_ongoing_requests=_MANY,
        ray_actor_options={"num_cpus": cpus},
    )
    deployment: Deployment = make(kind)
    return deployment
