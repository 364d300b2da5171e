"""Publishes rows as an index of one shard, the way that a run does it."""

from pathlib import Path

import pyarrow as pa

from benchmarks.shard_rows import ShardRows
from scp_ray import schema
from scp_ray.config import Settings
from scp_ray.pipeline.build_stage import BuildStage
from scp_ray.pipeline.generation_terms import publish_terms
from scp_ray.pipeline.staged_parts import write_part
from scp_ray.storage.keys import generation_folder, staged_folder
from scp_ray.storage.manifest import Manifest, ShardEntry
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import commit, read_state

_RUN_ID = "benchmark"


def publish_shard(rows: ShardRows, index: Path, settings: Settings, origin: Manifest) -> None:
    """Stage the rows, build the shard, and commit a generation that holds it alone.

    Args:
        rows: What the shard holds.
        index: Folder of the new index.
        settings: Give the index settings; ``num_shards`` is 1.
        origin: Manifest of the index that the rows were made from; names the encoder.
    """
    store = open_store(str(index))
    shard_ids = pa.array([0] * rows.documents.num_rows, pa.int32())
    documents = rows.documents.append_column(schema.STAGED.field(schema.SHARD_ID), shard_ids)
    part = write_part(
        store, staged_folder(_RUN_ID, 0), rows.chunks, documents.select(schema.STAGED.names)
    )
    build = {
        schema.SHARD_ID: 0,
        schema.PARTS: [{schema.PART: part, schema.DOC_IDS: documents[schema.DOC_ID].to_pylist()}],
        schema.KEPT: [],
    }
    (built,) = BuildStage(str(index), settings)(pa.Table.from_pylist([build], schema=schema.BUILDS))
    entry = ShardEntry.model_validate_json(built[schema.ENTRY_JSON][0].as_py())
    manifest = origin.model_copy(
        update={
            "generation": 1,
            "run_id": _RUN_ID,
            "num_documents": entry.num_documents,
            "num_chunks": entry.num_chunks,
            "settings": settings.model_dump(mode="json"),
            "settings_hash": settings.hash,
            "terms": publish_terms(store, [entry], generation_folder(1, _RUN_ID)),
            "shards": [entry],
        }
    )
    commit(store, read_state(store), manifest, fence=1)
