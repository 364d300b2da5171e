"""The Ray Serve application: shard groups, and an HTTP front that routes over them.

Deployments are bound to addresses and settings only; each opens what it needs in its own process.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from ray import serve
from ray.serve import Application, Deployment
from ray.serve.handle import DeploymentHandle

from scp_ray import __version__
from scp_ray.config import Settings, settings_from_tree
from scp_ray.errors import ConfigError, ShardUnavailableError
from scp_ray.protocols import Float32Array
from scp_ray.records import ChunkKey, PositionPrior, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.two_pass import QueryOutcome
from scp_ray.serve.models import IndexInfo, QueryReply, QueryRequest, ResultModel
from scp_ray.serve.question_reader import QuestionReader
from scp_ray.serve.reranking import load_reranker
from scp_ray.serve.router import Router
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.storage.manifest import Manifest, read_manifest
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import GenerationEntry, read_state

Filter = dict[str, Any] | None

_MAX_ONGOING_REQUESTS = 64
_UNPROCESSABLE, _UNAVAILABLE = 422, 503
_CANARY_DEADLINE_MS = 5000
_REPLICA_CPUS = 0.1  # a reservation; searches are short and share the node


class ServeArgs(BaseModel):
    """Arguments of the application, as ``serve_config.yaml`` gives them.

    Attributes:
        index: Address of the index.
        settings: Settings tree; what is left out has its default.
    """

    model_config = ConfigDict(extra="forbid")

    index: str
    settings: dict[str, Any] = {}


class GroupReplica:
    """A shard group in a process of its own. Searches run off the event loop."""

    def __init__(
        self, index: str, generation: GenerationEntry, shard_ids: list[int], settings: Settings
    ) -> None:
        store = open_store(index)
        manifest = read_manifest(store, generation.manifest, generation.manifest_sha256)
        self._group = ShardGroup.open(index, manifest, shard_ids, settings)

    async def first_pass(
        self, query: Float32Array, params: QueryParams, row_filter: Filter
    ) -> list[ScoredChunk]:
        """See ``ShardGroup.first_pass``."""
        return await asyncio.to_thread(self._group.first_pass, query, params, row_filter)

    async def second_pass(
        self,
        question: Question,
        prior: PositionPrior | None,
        params: QueryParams,
        row_filter: Filter,
    ) -> Selection:
        """See ``ShardGroup.second_pass``."""
        return await asyncio.to_thread(self._group.second_pass, question, prior, params, row_filter)

    async def search(
        self, question: Question, params: QueryParams, row_filter: Filter
    ) -> QueryOutcome:
        """See ``ShardGroup.search``."""
        return await asyncio.to_thread(self._group.search, question, params, row_filter)

    async def results(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, ResultModel]:
        """See ``ShardGroup.results``."""
        return await asyncio.to_thread(self._group.results, hits)

    async def texts(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, str]:
        """See ``ShardGroup.texts``."""
        return await asyncio.to_thread(self._group.texts, hits)


class HandleClient:
    """The ``GroupClient`` of a group behind a Serve handle."""

    def __init__(self, name: str, shard_ids: list[int], handle: "DeploymentHandle[Any]") -> None:
        self.name = name
        self.shard_ids = frozenset(shard_ids)
        self._handle = handle

    async def first_pass(
        self, query: Float32Array, params: QueryParams, row_filter: Filter
    ) -> list[ScoredChunk]:
        """See ``ShardGroup.first_pass``."""
        hits: list[ScoredChunk] = await self._handle.first_pass.remote(query, params, row_filter)
        return hits

    async def second_pass(
        self,
        question: Question,
        prior: PositionPrior | None,
        params: QueryParams,
        row_filter: Filter,
    ) -> Selection:
        """See ``ShardGroup.second_pass``."""
        selection: Selection = await self._handle.second_pass.remote(
            question, prior, params, row_filter
        )
        return selection

    async def search(
        self, question: Question, params: QueryParams, row_filter: Filter
    ) -> QueryOutcome:
        """See ``ShardGroup.search``."""
        outcome: QueryOutcome = await self._handle.search.remote(question, params, row_filter)
        return outcome

    async def results(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, ResultModel]:
        """See ``ShardGroup.results``."""
        results: dict[ChunkKey, ResultModel] = await self._handle.results.remote(hits)
        return results

    async def texts(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, str]:
        """See ``ShardGroup.texts``."""
        texts: dict[ChunkKey, str] = await self._handle.texts.remote(hits)
        return texts


api = FastAPI(
    title="scp_ray",
    version=__version__,
    description="Finds the right passage of the right document: two-pass positional search.",
)


@api.exception_handler(ConfigError)
async def _unprocessable(_request: Request, error: ConfigError) -> JSONResponse:
    return _problem(_UNPROCESSABLE, "the question cannot be asked of this index", error)


@api.exception_handler(RequestValidationError)
async def _invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
    """Name what is wrong, without the value: it may be one that JSON cannot carry back."""
    problems = "; ".join(
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()
    )
    return _problem(_UNPROCESSABLE, "the request is not of the documented form", problems)


@api.exception_handler(ShardUnavailableError)
async def _unavailable(_request: Request, error: ShardUnavailableError) -> JSONResponse:
    return _problem(_UNAVAILABLE, "a part of the index did not answer", error)


def _problem(status: int, title: str, detail: object) -> JSONResponse:
    """Return an RFC 9457 problem."""
    text = str(detail).encode("utf-8", "backslashreplace").decode()
    body = {"type": "about:blank", "title": title, "status": status, "detail": text}
    return JSONResponse(body, status_code=status, media_type="application/problem+json")


@serve.ingress(api)
class Ingress:
    """The HTTP front of one generation."""

    def __init__(
        self,
        index: str,
        generation: GenerationEntry,
        settings: Settings,
        groups: list["tuple[str, list[int], DeploymentHandle[Any]]"],
    ) -> None:
        store = open_store(index)
        manifest = read_manifest(store, generation.manifest, generation.manifest_sha256)
        clients = [HandleClient(*group) for group in groups]
        reader = QuestionReader.open(store, manifest, settings)
        self._settings = settings
        self._manifest = manifest
        self._num_groups = len(groups)
        self._router = Router(manifest, clients, reader, settings, load_reranker(settings))
        self._canary = QueryRequest(
            embedding=[1.0] * reader.encoder.dim,
            top_k=1,
            strict=True,
            deadline_ms=_CANARY_DEADLINE_MS,
        )

    @api.post("/v1/query")
    async def query(self, request: QueryRequest) -> QueryReply:
        """Answer a question."""
        limit = self._settings.serve.max_query_characters
        if request.query is not None and len(request.query) > limit:
            message = f"query has {len(request.query)} characters, at most {limit} are taken"
            raise ConfigError(message)
        return await self._router.answer(request)

    @api.get("/v1/index")
    async def index(self) -> IndexInfo:
        """Say what is served."""
        manifest = self._manifest
        return IndexInfo(
            generation=manifest.generation,
            created_at=manifest.created_at,
            documents=manifest.num_documents,
            chunks=manifest.num_chunks,
            shards=len(manifest.shards),
            groups=self._num_groups,
            encoder=manifest.encoder.model,
            annotator=manifest.annotator_revision,
            settings_hash=manifest.settings_hash,
        )

    @api.get("/healthz")
    async def healthz(self) -> dict[str, str]:
        """Search every shard once; 503 if one does not answer."""
        await self._router.answer(self._canary)
        return {"status": "ok"}

    @api.get("/readyz")
    async def readyz(self) -> dict[str, str]:
        """Say whether questions can be answered; 503 until then."""
        await self._router.answer(self._canary)
        return {"status": "ready"}


def build_app(args: ServeArgs) -> Application:
    """Return the application over the current generation of an index.

    Raises:
        ConfigError: If a setting is wrong.
        IndexFormatError: If there is no index, or this version cannot read it.
    """
    settings = settings_from_tree(args.settings)
    state = read_state(open_store(args.index))
    entry = state.current.entry if state.current else None
    if entry is None or state.manifest is None:
        message = f"{args.index}: no index here; build one with `scp-ray index`"
        raise ConfigError(message)
    groups = []
    for number, shard_ids in enumerate(spread_shards(state.manifest, settings.serve.num_groups)):
        name = f"group-{number}"
        replicas = settings.serve.replicas_per_group
        bound = _deployment(GroupReplica, name, replicas).bind(
            args.index, entry, shard_ids, settings
        )
        groups.append((name, shard_ids, bound))
    return _deployment(Ingress, "front", 1).bind(args.index, entry, settings, groups)


def _deployment(kind: type, name: str, num_replicas: int) -> Deployment:
    make = serve.deployment(
        name=name,
        num_replicas=num_replicas,
        max_ongoing_requests=_MAX_ONGOING_REQUESTS,
        ray_actor_options={"num_cpus": _REPLICA_CPUS},
    )
    deployment: Deployment = make(kind)
    return deployment


def spread_shards(manifest: Manifest, num_groups: int) -> list[list[int]]:
    """Return the shards of each group: the largest first, each to the group with least so far."""
    groups: list[list[int]] = [[] for _ in range(min(num_groups, len(manifest.shards)))]
    sizes = [0] * len(groups)
    for shard in sorted(manifest.shards, key=lambda entry: (-entry.num_chunks, entry.shard_id)):
        smallest = sizes.index(min(sizes))
        groups[smallest].append(shard.shard_id)
        sizes[smallest] += shard.num_chunks
    return [sorted(group) for group in groups]
