"""The chunks that the services are asked about: made once, kept outside of the tree.

Chunks of the sample manuals, embedded by the real encoder and enlarged; as an index of one shard,
as one of 32, and as plain files for the services that scp_ray is compared with.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.environment import data_sha256
from benchmarks.figures import ROOT, say
from benchmarks.shard_rows import ShardRows, enlarged, stored_rows, texts, with_columns
from scp_ray import schema
from scp_ray.config import Settings, available_cpus
from scp_ray.embedding.factory import load_encoder
from scp_ray.evaluation.queries import read_queries
from scp_ray.index.shard_files import embedding_matrix
from scp_ray.index.sharding import shard_of
from scp_ray.pipeline.build_stage import BuildStage, empty_shard
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.generation_terms import publish_terms
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.pipeline.staged_parts import write_part
from scp_ray.protocols import Float32Array, ObjectStore
from scp_ray.retrieval.terms import TERMS_REVISION
from scp_ray.storage.keys import generation_folder, staged_folder
from scp_ray.storage.manifest import FORMAT_VERSION, Manifest, ShardEntry
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import commit, load_current, read_state

CORPUS = ROOT / "examples" / "manuals"
QUESTIONS = ROOT / "examples" / "manual_queries.jsonl"
NUM_SHARDS = 32
NUM_RESULTS = 10
SHARES = (0.001, 0.01, 0.1)
_SEED = 1
_VERSION = 2  # of what this module makes
_MADE = "complete"


@dataclass(frozen=True, slots=True)
class ServedCorpus:
    """Files that one size of corpus consists of.

    Attributes:
        folder: Where they lie.
        questions: What is asked.
    """

    folder: Path
    questions: Sequence[str]

    @property
    def sample(self) -> Path:
        """Index of the manuals as they are."""
        return self.folder / "sample"

    @property
    def index(self) -> Path:
        """Index of one shard."""
        return self.folder / "index"

    @property
    def sharded_index(self) -> Path:
        """Index of the same chunks in ``NUM_SHARDS`` shards."""
        return self.folder / "sharded"

    @property
    def plain(self) -> Path:
        """``vectors.npy``, ``chunks.jsonl`` and ``questions.json``, for other services."""
        return self.folder / "plain"

    def exact_hits(self) -> list[set[str]]:
        """Return the ids of the ``NUM_RESULTS`` nearest chunks of each question."""
        asked = json.loads((self.plain / "questions.json").read_text(encoding="utf-8"))
        return [set(one["nearest"]) for one in asked]


def served_corpus(cache: Path, num_chunks: int, settings: Settings) -> ServedCorpus:
    """Return the corpus of this size; made where the cache does not have it."""
    made_of = {
        "version": _VERSION,
        "format": FORMAT_VERSION,
        "words": TERMS_REVISION,
        "chunks": num_chunks,
        "data": data_sha256(CORPUS),
        "questions": data_sha256(QUESTIONS),
        **settings.model_dump(mode="json", include={"chunking", "chop", "embedding", "index"}),
    }
    name = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]
    questions = [query.query for query in read_queries(QUESTIONS)]
    corpus = ServedCorpus(cache / f"chunks-{num_chunks}-{name}", questions)
    if not (corpus.folder / _MADE).exists():
        shutil.rmtree(corpus.folder, ignore_errors=True)
        _make(corpus, num_chunks, settings)
        (corpus.folder / _MADE).touch()
    return corpus


def made_rows(corpus: ServedCorpus, num_chunks: int, seed: int = _SEED) -> ShardRows:
    """Return the rows of a corpus of this size; another seed gives other vectors."""
    rows = enlarged(stored_rows(corpus.sample), num_chunks, np.random.default_rng(seed))
    labels = selectivity_labels(texts(rows.chunks, schema.CNM_MODEL), np.random.default_rng(_SEED))
    return ShardRows(
        with_columns(rows.chunks, {schema.CNM_MODEL: pa.array(labels, pa.string())}), rows.documents
    )


def label_of(share: float) -> str:
    """Return the ``cnm.model`` of the chunks that a filter is to let through."""
    return f"share {share:g}"


def selectivity_labels(models: Sequence[str], generator: np.random.Generator) -> list[str]:
    """Return the models with those of some chunks, spread at random, replaced by labels.

    Each of ``SHARES`` gets that share of the chunks, and no chunk has two labels.
    """
    labels = list(models)
    shuffled = generator.permutation(len(labels)).tolist()
    for share in SHARES:
        count = round(share * len(labels))
        for row in shuffled[:count]:
            labels[row] = label_of(share)
        shuffled = shuffled[count:]
    return labels


def publish_rows(
    rows: ShardRows, index: Path, num_shards: int, settings: Settings, origin: Manifest
) -> None:
    """Build the shards of the next generation of an index and commit it.

    Args:
        rows: All that it holds.
        index: Folder of the index; made where it is not there.
        num_shards: Its shards.
        settings: Give the graphs' settings.
        origin: Manifest of the index that the rows were made from; names the encoder.
    """
    store = open_store(str(index))
    state = read_state(store)
    generation, run_id = state.next_generation, f"benchmark-{state.next_generation}"
    shape = {"num_shards": num_shards, "build_threads": available_cpus()}
    shaped = settings.with_values("index", **shape)
    doc_ids = texts(rows.documents, schema.DOC_ID)
    places = np.array([shard_of(doc_id, num_shards) for doc_id in doc_ids])
    stage = BuildStage(str(index), shaped)
    entries = [
        _built(store, stage, _documents_of(rows, places == shard_id), (run_id, shard_id))
        for shard_id in range(num_shards)
    ]
    manifest = origin.model_copy(
        update={
            "generation": generation,
            "run_id": run_id,
            "num_documents": rows.documents.num_rows,
            "num_chunks": rows.chunks.num_rows,
            "settings": shaped.model_dump(mode="json"),
            "settings_hash": shaped.hash,
            "terms": publish_terms(store, entries, generation_folder(generation, run_id)),
            "shards": entries,
        }
    )
    commit(store, state, manifest, fence=generation)


def _make(corpus: ServedCorpus, num_chunks: int, settings: Settings) -> None:
    say("indexing the sample manuals")
    corpus.folder.mkdir(parents=True)
    request = IndexRequest(str(CORPUS), str(corpus.sample), settings)
    index_corpus(request, InProcessExecutor(), lambda _line: None)
    origin = load_current(open_store(str(corpus.sample)))
    rows = made_rows(corpus, num_chunks)
    for index, num_shards in ((corpus.index, 1), (corpus.sharded_index, NUM_SHARDS)):
        say(f"building {num_chunks} chunks in {num_shards} shards")
        publish_rows(rows, index, num_shards, settings, origin)
    _write_plain(corpus, rows, settings)


def _documents_of(rows: ShardRows, chosen: Any) -> ShardRows:  # noqa: ANN401 - a mask
    documents = rows.documents.filter(pa.array(chosen))
    is_of_them = pc.is_in(
        rows.chunks[schema.DOC_ID], value_set=documents[schema.DOC_ID].combine_chunks()
    )
    return ShardRows(rows.chunks.filter(is_of_them), documents)


def _built(
    store: ObjectStore, stage: BuildStage, rows: ShardRows, place: tuple[str, int]
) -> ShardEntry:
    run_id, shard_id = place
    if rows.documents.num_rows == 0:
        return empty_shard(shard_id)
    shard_ids = pa.array([shard_id] * rows.documents.num_rows, pa.int32())
    documents = rows.documents.append_column(schema.STAGED.field(schema.SHARD_ID), shard_ids)
    folder = staged_folder(run_id, shard_id)
    part = write_part(store, folder, rows.chunks, documents.select(schema.STAGED.names))
    build = {
        schema.SHARD_ID: shard_id,
        schema.PARTS: [{schema.PART: part, schema.DOC_IDS: documents[schema.DOC_ID].to_pylist()}],
        schema.KEPT: [],
    }
    (built,) = stage(pa.Table.from_pylist([build], schema=schema.BUILDS))
    return ShardEntry.model_validate_json(built[schema.ENTRY_JSON][0].as_py())


def _write_plain(corpus: ServedCorpus, rows: ShardRows, settings: Settings) -> None:
    corpus.plain.mkdir()
    vectors = embedding_matrix(rows.chunks)
    np.save(corpus.plain / "vectors.npy", vectors)
    with (corpus.plain / "chunks.jsonl").open("w", encoding="utf-8") as file:
        for row in rows.chunks.drop([schema.EMBEDDING]).to_pylist():
            file.write(json.dumps(plain_chunk(row)) + "\n")
    ids = [chunk_id(row) for row in rows.chunks.select(_KEY).to_pylist()]
    encoder = load_encoder(settings.embedding, num_threads=1)
    queries = encoder.encode_query(corpus.questions)
    asked = [
        {"query": question, "vector": query.tolist(), "nearest": [ids[row] for row in nearest]}
        for question, query, nearest in zip(
            corpus.questions, queries, nearest_rows(vectors, queries), strict=True
        )
    ]
    (corpus.plain / "questions.json").write_text(json.dumps(asked), encoding="utf-8")


_KEY = [schema.DOC_ID, schema.CHUNK_INDEX]


def chunk_id(row: Mapping[str, Any]) -> str:
    """Return the name of a chunk, the same in every service."""
    return f"{row[schema.DOC_ID]}#{row[schema.CHUNK_INDEX]}"


def plain_chunk(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the other services store of a chunk: what a result of scp_ray tells of it."""
    names = (schema.NUM_CHUNKS, schema.CHAR_START, schema.CHAR_END, schema.TEXT)
    return {
        "id": chunk_id(row),
        **{name: row[name] for name in (*_KEY, *names)},
        "category": row[schema.CNM_CATEGORY] or "",
        "model": row[schema.CNM_MODEL] or "",
    }


def nearest_rows(vectors: Float32Array, queries: Float32Array) -> list[list[int]]:
    """Return the rows of the ``NUM_RESULTS`` largest inner products of each query, best first."""
    scores = queries.astype(np.float64) @ vectors.astype(np.float64).T
    rows: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :NUM_RESULTS].tolist()
    return rows
