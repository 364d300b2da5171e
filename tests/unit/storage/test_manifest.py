"""A manifest that contradicts itself is refused, also when its checksum fits."""

import hashlib
from collections.abc import Callable

import pytest

from scp_ray.config import Settings
from scp_ray.errors import ChecksumError, IndexFormatError
from scp_ray.index import shard_files
from scp_ray.storage.keys import shard_folder
from scp_ray.storage.manifest import (
    FORMAT_VERSION,
    SHARD_FILES,
    EncoderEntry,
    Manifest,
    ShardEntry,
    StoredFile,
    TermsEntry,
    read_manifest,
)
from scp_ray.testing import MemoryObjectStore

FILE = StoredFile(sha256="0" * 64, size_bytes=1)
Change = Callable[[Manifest], Manifest]


def _shard(shard_id: int) -> ShardEntry:
    files = dict.fromkeys(SHARD_FILES, FILE)
    folder = shard_folder(shard_id, dict.fromkeys(SHARD_FILES, FILE.sha256))
    return ShardEntry(
        shard_id=shard_id, folder=folder, files=files, num_documents=2, num_chunks=5, recall=1.0
    )


def _manifest() -> Manifest:
    return Manifest(
        format_version=FORMAT_VERSION,
        generation=1,
        run_id="run",
        parent=None,
        created_at="2026-01-01T00:00:00+00:00",
        corpus="corpus",
        num_documents=4,
        num_chunks=10,
        encoder=EncoderEntry(model="m", dtype="float32", revision=FILE.sha256, dim=8, max_tokens=9),
        annotator_revision="none",
        fingerprint=FILE.sha256,
        settings=Settings().model_dump(mode="json"),
        settings_hash=FILE.sha256,
        software={},
        terms=TermsEntry(file=FILE, revision="1", num_terms=0),
        shards=[_shard(0), _shard(1)],
    )


def _read(manifest: Manifest, key: str) -> Manifest:
    store, data = MemoryObjectStore(), manifest.to_json()
    store.write(key, data)
    return read_manifest(store, key, hashlib.sha256(data).hexdigest())


def test_every_file_that_is_opened_has_a_checksum() -> None:
    assert set(shard_files.FILES) == SHARD_FILES


def test_what_was_written_is_read() -> None:
    assert _read(_manifest(), _manifest().key) == _manifest()


def _with_first_shard(**changes: object) -> Change:
    def change(manifest: Manifest) -> Manifest:
        first, *others = manifest.shards
        return manifest.model_copy(update={"shards": [first.model_copy(update=changes), *others]})

    return change


def _with_index_settings(settings: object) -> Change:
    return lambda manifest: manifest.model_copy(update={"settings": {"index": settings}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda good: good.model_copy(update={"run_id": "other"}), "it is that of generations/"),
        (lambda good: good.model_copy(update={"generation": 2}), "it is that of generations/"),
        (lambda good: good.model_copy(update={"num_chunks": 9}), "num_chunks is 9, .* have 10"),
        (lambda good: good.model_copy(update={"shards": good.shards[1:]}), "not numbered from 0"),
        (_with_first_shard(folder=None), "shard 0 does not have the files"),
        (_with_first_shard(files={}), "shard 0 does not have the files"),
        (_with_first_shard(folder=_shard(1).folder), "shard 0 does not have the files"),
        (_with_first_shard(folder="../outside"), "shard 0 does not have the files"),
        (_with_first_shard(recall=1.5), "less than or equal to 1"),
        (_with_index_settings(None), "malformed manifest: 1 validation error for IndexConfig"),
        (_with_index_settings({}), "malformed manifest: 1 validation error for IndexConfig"),
        (
            _with_index_settings(Settings().index.model_dump() | {"ef_search": 0}),
            "greater than or equal to 8",
        ),
    ],
)
def test_contradictions_are_refused_by_name(change: Change, said: str) -> None:
    key = _manifest().key
    with pytest.raises(IndexFormatError, match=f"/{key}: (?s:.)*{said}"):
        _read(change(_manifest()), key)


def test_settings_of_other_versions_do_not_matter() -> None:
    later = _with_index_settings(Settings().index.model_dump(mode="json") | {"later": 1})
    assert _read(later(_manifest()), _manifest().key).index_config == Settings().index


@pytest.mark.parametrize("key", ["../manifest.json", "/manifest.json", "", "nul\0"])
def test_keys_that_leave_the_root_are_refused(key: str) -> None:
    with pytest.raises(IndexFormatError, match="/CURRENT: malformed: unsafe object key"):
        read_manifest(MemoryObjectStore(), key, FILE.sha256)


def test_other_bytes_are_refused() -> None:
    store, key = MemoryObjectStore(), _manifest().key
    store.write(key, _manifest().to_json())
    with pytest.raises(ChecksumError, match=f"/{key}: its bytes are not those"):
        read_manifest(store, key, FILE.sha256)
