"""Manifest and CURRENT."""

import json
from pathlib import Path

import pytest

from scp_ray.config import Settings
from scp_ray.errors import ChecksumError, IndexFormatError, PreconditionFailedError
from scp_ray.storage.keys import CURRENT
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.manifest import (
    FORMAT_VERSION,
    EncoderEntry,
    Manifest,
    ShardEntry,
    StoredFile,
    TermsEntry,
)
from scp_ray.storage.publish import commit, load_current, read_state

HASH = "0" * 64


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path)


def make_manifest(generation: int = 1, run_id: str = "run", **changes: object) -> Manifest:
    shard = ShardEntry(shard_id=0, folder=None, files={}, num_documents=0, num_chunks=0, recall=1.0)
    values: dict[str, object] = {
        "format_version": FORMAT_VERSION,
        "generation": generation,
        "run_id": run_id,
        "parent": generation - 1 or None,
        "created_at": "2026-01-01T00:00:00+00:00",
        "corpus": "corpus",
        "num_documents": 0,
        "num_chunks": 0,
        "encoder": EncoderEntry(model="m", dtype="float32", revision=HASH, dim=8, max_tokens=9),
        "annotator_revision": "none",
        "fingerprint": HASH,
        "settings": Settings().model_dump(mode="json"),
        "settings_hash": HASH,
        "software": {},
        "terms": TermsEntry(file=StoredFile(sha256=HASH, size_bytes=1), revision="1", num_terms=0),
        "shards": [shard],
    }
    return Manifest.model_validate(values | changes)


def test_no_index_yet(store: LocalObjectStore) -> None:
    state = read_state(store)
    assert state.manifest is None
    assert state.next_generation == 1
    with pytest.raises(IndexFormatError, match="no index here; build one"):
        load_current(store)


def test_commit_is_read_back(store: LocalObjectStore) -> None:
    commit(store, read_state(store), make_manifest(), fence=1)
    assert load_current(store) == make_manifest()
    commit(store, read_state(store), make_manifest(2, "second"), fence=2)
    assert load_current(store).generation == 2
    current = read_state(store).current
    assert current is not None
    assert [entry.generation for entry in current.generations] == [1, 2]
    assert current.fence == 2


def test_second_commit_on_one_state_is_refused(store: LocalObjectStore) -> None:
    state = read_state(store)
    commit(store, state, make_manifest(1, "first"), fence=1)
    with pytest.raises(PreconditionFailedError, match="changed by somebody else"):
        commit(store, state, make_manifest(1, "second"), fence=1)
    assert load_current(store).run_id == "first"


def test_manifest_without_swap_is_not_seen(store: LocalObjectStore) -> None:
    commit(store, read_state(store), make_manifest(), fence=1)
    later = make_manifest(2, "crashed")
    store.write(later.key, later.to_json())
    assert load_current(store).generation == 1
    assert read_state(store).next_generation == 2


@pytest.mark.parametrize("where", ["CURRENT", "manifest"])
def test_newer_format_is_refused_by_name(store: LocalObjectStore, where: str) -> None:
    commit(store, read_state(store), make_manifest(format_version=FORMAT_VERSION), fence=1)
    if where == "CURRENT":
        content = json.loads(store.read(CURRENT)) | {"format_version": 99, "new_field": 1}
        store.write(CURRENT, json.dumps(content).encode())
    else:
        state = read_state(store)
        commit(store, state, make_manifest(2, format_version=99), fence=1)
    with pytest.raises(IndexFormatError, match="has index format 99; this version .* reads format"):
        load_current(store)


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b"[1]", b'{"format_version": "x"}'])
def test_foreign_current_is_refused(store: LocalObjectStore, content: bytes) -> None:
    store.write(CURRENT, content)
    with pytest.raises(IndexFormatError, match="not an index of scp_ray"):
        load_current(store)


def test_current_without_its_generation_is_refused(store: LocalObjectStore) -> None:
    commit(store, read_state(store), make_manifest(), fence=1)
    content = json.loads(store.read(CURRENT)) | {"generation": 5}
    store.write(CURRENT, json.dumps(content).encode())
    with pytest.raises(IndexFormatError, match="CURRENT: malformed"):
        load_current(store)


def test_edited_manifest_is_refused(store: LocalObjectStore) -> None:
    commit(store, read_state(store), make_manifest(), fence=1)
    key = make_manifest().key
    store.write(key, store.read(key).replace(b'"corpus"', b'"korpus"'))
    with pytest.raises(ChecksumError, match=r"manifest\.json: its bytes are not those"):
        load_current(store)


def test_file_names_in_a_manifest_cannot_leave_the_index(store: LocalObjectStore) -> None:
    shard = (
        make_manifest()
        .shards[0]
        .model_copy(
            update={
                "folder": "shards/00000/x",
                "files": {"../../../etc/passwd": StoredFile(sha256=HASH, size_bytes=1)},
            }
        )
    )
    commit(store, read_state(store), make_manifest(shards=[shard.model_dump()]), fence=1)
    with pytest.raises(IndexFormatError, match="does not have the files of a shard"):
        load_current(store)
