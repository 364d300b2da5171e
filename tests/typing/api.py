"""The public API as its users type it: checked by mypy, never run."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from scp_ray.annotators.factory import make_annotator
from scp_ray.chop.annotate import annotate_document
from scp_ray.config import Settings, load_settings
from scp_ray.embedding.factory import load_encoder
from scp_ray.evaluation.metrics import EvaluationReport, evaluate
from scp_ray.evaluation.queries import read_queries
from scp_ray.evaluation.relevance import HitSpan
from scp_ray.index.shard import Shard
from scp_ray.pipeline.executor import InProcessExecutor, StageSpec
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor
from scp_ray.pipeline.run import index_corpus
from scp_ray.protocols import Encoder, ObjectStore
from scp_ray.records import ChunkAnnotation, QueryParams
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.two_pass import QueryOutcome, two_pass_query
from scp_ray.serve.models import QueryReply, QueryRequest
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.storage.local import LocalObjectStore
from scp_ray.testing import MemoryObjectStore, ScriptedDecider, ScriptedExtractor

settings: Settings = load_settings(Path("settings.yaml"), ["index.num_shards=8"])
stores: list[ObjectStore] = [LocalObjectStore(Path("index")), MemoryObjectStore()]
encoder: Encoder = load_encoder(settings.embedding)
params: QueryParams = settings.query_params(top_k=3)


def index() -> None:
    """Build an index, in process and on Ray."""
    request = IndexRequest("corpus", "index", settings)
    for executor in (InProcessExecutor(), RayExecutor(settings)):
        generation: int | None = index_corpus(request, executor, print).generation
        print(generation)


def ask() -> QueryReply:
    """Ask it."""
    return LocalSearcher.open("index", settings).answer(QueryRequest(query="How?"))


def measure() -> EvaluationReport:
    """Measure it."""
    return evaluate(read_queries(Path("queries.jsonl")), {"q": [HitSpan("a", 0, 1)]})


def search(shards: list[Shard]) -> QueryOutcome:
    """Search shards that are open."""
    return two_pass_query(shards, Question(np.zeros(384, dtype=np.float32)), params)


async def annotate(
    chunks: list[str], extractor: ScriptedExtractor, decider: ScriptedDecider
) -> list[ChunkAnnotation]:
    """Annotate a document with the two ports, and with the annotator of the settings."""
    scripted = await annotate_document(
        chunks, extractor, decider, lookahead=16, document_fallback=True
    )
    annotator = make_annotator(settings, partial(StoredAnnotationCache, MemoryObjectStore()))
    return scripted + annotator.annotate([chunks])[0].annotations


class OwnStage:
    """A stage of a user's own."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Pass the rows on."""
        yield batch


own_stage = StageSpec("own", OwnStage, batch_rows=10)
