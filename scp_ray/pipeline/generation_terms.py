"""Sums the words of all shards into the term statistics of a generation, and writes them."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from scp_ray.errors import ChecksumError
from scp_ray.index.lexical import TERMS_FILE as SHARD_TERMS_FILE
from scp_ray.index.term_statistics import sum_term_statistics
from scp_ray.index.term_table import TermTable, read_term_table, write_term_table
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import fetch_verified, file_sha256
from scp_ray.storage.keys import TERMS_FILE
from scp_ray.storage.manifest import Manifest, ShardEntry, StoredFile, TermsEntry


def publish_terms(store: ObjectStore, shards: Iterable[ShardEntry], folder: str) -> TermsEntry:
    """Write the term statistics of shards into a generation's folder, and read them back.

    Raises:
        ChecksumError: If a shard's file is missing or damaged.
    """
    with tempfile.TemporaryDirectory() as name:
        local = Path(name)
        terms = sum_term_statistics(_shard_terms(store, shards, local))
        path = local / TERMS_FILE
        write_term_table(terms, path)
        file = StoredFile(sha256=file_sha256(path), size_bytes=path.stat().st_size)
        store.upload(path, f"{folder}/{TERMS_FILE}")
        fetch_verified(store, folder, {TERMS_FILE: file.sha256}, local / "written")
    return TermsEntry(
        file=file, revision=terms.collection.terms_revision, num_terms=terms.table.num_rows
    )


def heal_terms(store: ObjectStore, manifest: Manifest) -> None:
    """Write a generation's term statistics again if they are missing or damaged.

    Raises:
        ChecksumError: If the shards do not give the same file again.
    """
    checksums = {TERMS_FILE: manifest.terms.file.sha256}
    with tempfile.TemporaryDirectory() as name:
        try:
            fetch_verified(store, manifest.folder, checksums, Path(name, "found"))
        except ChecksumError:
            publish_terms(store, manifest.shards, manifest.folder)
            fetch_verified(store, manifest.folder, checksums, Path(name, "written"))


def _shard_terms(
    store: ObjectStore, shards: Iterable[ShardEntry], cache: Path
) -> Iterator[TermTable]:
    for shard in shards:
        if shard.folder is not None:
            wanted = {SHARD_TERMS_FILE: shard.checksums[SHARD_TERMS_FILE]}
            folder = fetch_verified(store, shard.folder, wanted, cache)
            yield read_term_table(folder / SHARD_TERMS_FILE)
