"""The HTTP front: a Serve deployment that answers questions over the shard groups."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import FastAPI
from ray import serve
from ray.serve.handle import DeploymentHandle
from starlette.middleware import Middleware

from scp_ray.protocols import Encoder
from scp_ray.serve.access_log import RequestLog, start_logging
from scp_ray.serve.admission import Admission
from scp_ray.serve.audit_log import AuditLog
from scp_ray.serve.coordinator import CoordinatorHandle
from scp_ray.serve.gathering import Gatherer
from scp_ray.serve.generation_holder import GenerationHolder
from scp_ray.serve.group_calls import GroupCall, answer_calls
from scp_ray.serve.group_client import CallingClient, GroupClient
from scp_ray.serve.hedging import HedgedCall
from scp_ray.serve.http_api import create_api
from scp_ray.serve.listener import Listener
from scp_ray.serve.metrics import ServeMetrics
from scp_ray.serve.models import DefaultsModel, IndexInfo, QueryReply, QueryRequest
from scp_ray.serve.query_encoding import MAX_TEXTS, EncodeCall, Encoded, encode_calls
from scp_ray.serve.question_reader import QuestionReader
from scp_ray.serve.remote import answer_of
from scp_ray.serve.replicas import (
    SearchThreads,
    ServedIndex,
    open_encoder,
    open_group,
    replica_names,
)
from scp_ray.serve.reranking import load_reranker
from scp_ray.serve.router import Observers, Reading, Router
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.serve.tracing import start_tracing, stop_tracing
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import GenerationEntry

_CALLS_PER_REPLICA = 2  # one is answered while the next one travels
_MAX_CALL_SIZE = 128
_GAUGES_EVERY_S = 1.0
_ON_ITS_WAY_S = 1.0  # the last answer, through a proxy
_NOTICE_S = 2.0  # from not being ready to taking no more questions


@dataclass(frozen=True, slots=True)
class FrontPart:
    """What a front has open of a generation.

    Attributes:
        router: Answers.
        encoder: Encodes questions; None where encoders are elsewhere.
        group: All shards; None where they are in groups elsewhere.
    """

    router: Router
    encoder: Encoder | None
    group: ShardGroup | None


@serve.ingress()
class Front:
    """Implements ``QueryService`` over the generation that all processes have open.

    Args:
        served: The index.
        coordinator: Says which generation.
        groups: Handle of each shard group; none = this process holds all shards.
        encoder: Handle of the query encoders; None = this process encodes.
    """

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self,
        served: ServedIndex,
        coordinator: "DeploymentHandle[Any]",
        groups: Sequence["DeploymentHandle[Any]"],
        encoder: "DeploymentHandle[Any] | None",
    ) -> None:
        config = served.settings.serve
        start_logging()
        start_tracing(config.otlp_endpoint)
        self._served = served
        self._metrics = ServeMetrics()
        self._audit_log = (
            AuditLog(config.audit_log, with_text=config.audit_log_text, metrics=self._metrics)
            if config.audit_log
            else None
        )
        self._admission = Admission(config.max_in_flight)
        self._reranker = load_reranker(served.settings)
        self._threads = SearchThreads(served.num_threads)
        self._has_encoder = encoder is None
        self._encoding = self._gathered_encoding(encoder)
        self._gatherers = {
            group_name(number): self._gathered_calls(group_name(number), handle)
            for number, handle in enumerate(groups)
        }
        self._coordinator = CoordinatorHandle(coordinator)
        self._holder = GenerationHolder(*replica_names(), self._coordinator, self._open)
        await self._holder.start()
        log = Middleware(RequestLog, metrics=self._metrics, returns_id=served.is_direct)
        self._api = create_api(self, served.settings, admission=self._admission, middleware=[log])
        self._listener = Listener(self._api, config.host, config.port) if served.is_direct else None
        self._telling = asyncio.create_task(self._tell_gauges())
        self._draining = asyncio.create_task(self._drain())

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Return the HTTP application over this object."""
        return self._api

    async def __del__(self) -> None:
        """Write and send what is left."""
        self._telling.cancel()
        self._draining.cancel()
        if self._listener is not None:
            await self._listener.close()
        await self._holder.close()
        await asyncio.to_thread(stop_tracing)
        if self._audit_log is not None:
            await asyncio.to_thread(self._audit_log.close)

    def check_health(self) -> None:
        """Have Serve restart a front that lives and cannot search, or does not listen.

        Raises:
            ScpRayError: If so.
        """
        if self._listener is not None:
            self._listener.check()
        for part in self._holder.parts:
            if part.group is not None:
                part.group.check(self._served.settings)

    async def answer(self, request: QueryRequest) -> QueryReply:
        """See ``QueryService.answer``."""
        with self._holder.serving() as part:
            return await part.router.answer(request)

    async def check(self) -> None:
        """See ``QueryService.check``."""
        with self._holder.serving() as part:
            await part.router.check()

    async def reload(self) -> IndexInfo:
        """See ``QueryService.reload``."""
        directive = await self._coordinator.reload()
        return self.about().model_copy(update={"reload": directive.reload})

    def about(self) -> IndexInfo:
        """See ``QueryService.about``."""
        with self._holder.serving() as part:
            manifest = part.router.manifest
        return IndexInfo(
            generation=manifest.generation,
            created_at=manifest.created_at,
            documents=manifest.num_documents,
            chunks=manifest.num_chunks,
            shards=len(manifest.shards),
            groups=len(self._served.shard_map.groups),
            encoder=manifest.encoder.model,
            annotator=manifest.annotator_revision,
            settings_hash=manifest.settings_hash,
            defaults=DefaultsModel.of(self._served.settings),
            reload=self._holder.reload,
        )

    def _open(self, entry: GenerationEntry) -> FrontPart:
        served = self._served
        manifest = served.manifest(entry)
        encoder = None
        if self._has_encoder:
            earlier = (part.encoder for part in self._holder.parts if part.encoder is not None)
            encoder = open_encoder(manifest, served.settings, earlier)
        group = None if self._gatherers else open_group(served, manifest, 0, self._threads.run)
        router = Router(
            manifest,
            self._clients(entry, served.shard_map.shards_of(manifest), group),
            Reading(
                lambda text: self._encoding.ask(EncodeCall(entry, text)),
                QuestionReader.open(open_store(served.index), manifest, served.settings),
            ),
            served.settings,
            self._reranker,
            Observers(self._metrics, self._audit_log),
        )
        return FrontPart(router, encoder, group)

    def _clients(
        self, entry: GenerationEntry, shards: Sequence[Sequence[int]], here: ShardGroup | None
    ) -> list[GroupClient]:
        if here is not None:
            ask = partial(self._answer_here, here)
            return [CallingClient(group_name(0), here.shard_ids, entry, ask)]
        return [
            CallingClient(name, frozenset(held), entry, gatherer.ask)
            for (name, gatherer), held in zip(self._gatherers.items(), shards, strict=True)
            if held
        ]

    async def _answer_here(self, group: ShardGroup, call: GroupCall) -> object:
        (answer,) = await answer_calls([call], lambda _entry: group, self._threads.executor)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _encoder_of(self, entry: GenerationEntry) -> Encoder:
        encoder = self._holder.part(entry).encoder
        if encoder is None:
            message = "this front has no encoder"
            raise LookupError(message)
        return encoder

    def _gathered_encoding(
        self, handle: "DeploymentHandle[Any] | None"
    ) -> Gatherer[EncodeCall, Encoded]:
        if handle is not None:
            num_calls = _CALLS_PER_REPLICA * self._served.settings.serve.num_encoders
            return Gatherer(partial(_remote, handle), max_calls=num_calls, max_size=MAX_TEXTS)
        executor = ThreadPoolExecutor(1, "scp_ray encoder")

        async def encode(calls: list[EncodeCall]) -> list[Encoded]:
            return await encode_calls(calls, self._encoder_of, executor)

        return Gatherer(encode, max_calls=1, max_size=MAX_TEXTS)

    def _gathered_calls(
        self, name: str, handle: "DeploymentHandle[Any]"
    ) -> Gatherer[GroupCall, Any]:
        config = self._served.settings.serve
        call: Callable[[list[GroupCall]], Awaitable[list[Any]]] = partial(_remote, handle)
        if config.hedge and config.replicas_per_group > 1:
            call = HedgedCall(call, name, self._metrics)

        async def counted(calls: list[GroupCall]) -> list[Any]:
            for step, number in Counter(one.step for one in calls).items():
                self._metrics.call_size(name, step, number)
            return await call(calls)

        num_calls = _CALLS_PER_REPLICA * config.replicas_per_group
        return Gatherer(counted, max_calls=num_calls, max_size=_MAX_CALL_SIZE)

    async def _drain(self) -> None:
        await self._holder.draining.wait()
        await self._admission.end(_NOTICE_S)
        await asyncio.sleep(_ON_ITS_WAY_S)
        self._holder.tell_drained()

    async def _tell_gauges(self) -> None:
        while True:
            self._metrics.in_flight(self._admission.in_flight)
            self._metrics.memory(len(self._holder.parts))
            for name, gatherer in self._gatherers.items():
                self._metrics.waiting(name, gatherer.num_waiting)
            await asyncio.sleep(_GAUGES_EVERY_S)


def group_name(number: int) -> str:
    """Return the name of a group's deployment."""
    return f"group-{number}"


async def _remote(handle: "DeploymentHandle[Any]", calls: list[Any]) -> list[Any]:
    answers: list[Any] = await answer_of(handle.answer.remote(calls))
    return answers
