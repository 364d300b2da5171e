"""Builds shards from staged parts and kept rows, and writes and verifies their files."""

import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scp_ray import schema
from scp_ray.config import Settings
from scp_ray.errors import ChecksumError
from scp_ray.index.build import ShardBuildReport, build_shard
from scp_ray.index.shard_files import read_chunks, read_documents
from scp_ray.pipeline.staged_parts import read_part
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import fetch_verified, file_sha256
from scp_ray.storage.keys import shard_folder
from scp_ray.storage.manifest import ShardEntry, StoredFile
from scp_ray.storage.opening import open_store


def empty_shard(shard_id: int) -> ShardEntry:
    """Return the entry of a shard without documents."""
    return ShardEntry(
        shard_id=shard_id, folder=None, files={}, num_documents=0, num_chunks=0, recall=1.0
    )


class BuildStage:
    """One shard a row: gathers its rows, builds, audits, writes, and reads back what it wrote."""

    def __init__(self, index: str, settings: Settings) -> None:
        self._store = open_store(index)
        self._config = settings.index

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        """Take ``BUILDS`` and yield ``BUILT``, one table a shard."""
        for row in batch.to_pylist():
            started = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                entry = self._build(row, Path(folder))
            built = {
                schema.ENTRY_JSON: entry.model_dump_json(),
                schema.BUILD_S: time.perf_counter() - started,
            }
            yield pa.Table.from_pylist([built], schema=schema.BUILT)

    def _build(self, row: dict[str, Any], folder: Path) -> ShardEntry:
        shard_id = row[schema.SHARD_ID]
        gathered = [
            *_staged_rows(self._store, row[schema.PARTS]),
            *_kept_rows(self._store, row[schema.KEPT], folder / "kept"),
        ]
        chunks = pa.concat_tables([tables[0] for tables in gathered])
        documents = pa.concat_tables([tables[1] for tables in gathered])
        target = folder / "built"
        target.mkdir()
        report = build_shard(chunks, documents, self._config, target)
        return _published(self._store, shard_id, target, report)


def _staged_rows(
    store: ObjectStore, parts: Iterable[dict[str, Any]]
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield chunks and documents, of each part those documents that are to come from it."""
    for part in parts:
        chunks, documents = read_part(store, part[schema.PART], part[schema.DOC_IDS])
        yield chunks, documents.select(schema.DOCUMENTS.names).cast(schema.DOCUMENTS)


def _kept_rows(
    store: ObjectStore, kept: Iterable[dict[str, Any]], cache: Path
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield chunks and documents of earlier shards, as they were but for their names."""
    for one in kept:
        shard = ShardEntry.model_validate_json(one[schema.SHARD])
        folder = fetch_verified(store, str(shard.folder), shard.checksums, cache)
        wanted = pa.Table.from_pylist(one[schema.KEPT_DOCUMENTS], schema=schema.KEPT_DOCUMENT)
        chunks = _named_anew(read_chunks(folder), wanted.select([schema.KEPT_AS, schema.DOC_ID]))
        documents = _named_anew(read_documents(folder), wanted)
        yield chunks, documents


def _named_anew(table: pa.Table, wanted: pa.Table) -> pa.Table:
    """Return the rows of the wanted documents, with what ``wanted`` says of them now."""
    rows = pc.index_in(table[schema.DOC_ID], value_set=wanted[schema.KEPT_AS].combine_chunks())
    found = pc.is_valid(rows)
    kept, rows = table.filter(found), rows.filter(found)
    for name in wanted.column_names:
        if name in table.column_names:
            place = table.schema.get_field_index(name)
            kept = kept.set_column(place, table.schema.field(name), wanted[name].take(rows))
    return kept


def _published(
    store: ObjectStore, shard_id: int, folder: Path, report: ShardBuildReport
) -> ShardEntry:
    """Write a shard's files under the name of their content, and read them back."""
    files = {
        path.name: StoredFile(sha256=file_sha256(path), size_bytes=path.stat().st_size)
        for path in sorted(folder.iterdir())
    }
    checksums = {name: file.sha256 for name, file in files.items()}
    target = shard_folder(shard_id, checksums)
    try:
        fetch_verified(store, target, checksums, folder.parent / "earlier")
    except ChecksumError:  # not there yet, or a crash left it incomplete
        for name in files:
            store.upload(folder / name, f"{target}/{name}")
        fetch_verified(store, target, checksums, folder.parent / "written")
    return ShardEntry(
        shard_id=shard_id,
        folder=target,
        files=files,
        num_documents=report.num_documents,
        num_chunks=report.num_chunks,
        recall=report.audit.recall,
    )
