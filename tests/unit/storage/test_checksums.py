"""Nothing passes with other bytes than the manifest names."""

import hashlib
from pathlib import Path

import pytest

from scp_ray.errors import ChecksumError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import fetch_verified, file_sha256, read_verified
from scp_ray.storage.local import LocalObjectStore
from scp_ray.testing import MemoryObjectStore

DATA = b"some bytes"
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return LocalObjectStore(tmp_path / "store") if request.param == "local" else MemoryObjectStore()


def test_file_sha256(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(DATA)
    assert file_sha256(tmp_path / "file") == SHA256


def test_right_bytes_pass(store: ObjectStore, tmp_path: Path) -> None:
    store.write("folder/file", DATA)
    assert read_verified(store, "folder/file", SHA256) == DATA
    folder = fetch_verified(store, "folder", {"file": SHA256}, tmp_path / "cache")
    assert (folder / "file").read_bytes() == DATA


@pytest.mark.parametrize("damage", [b"", b"some bytez", DATA + b"\0"])
def test_other_bytes_are_refused_by_name(store: ObjectStore, tmp_path: Path, damage: bytes) -> None:
    store.write("folder/file", damage)
    with pytest.raises(ChecksumError, match="folder/file: its bytes are not those"):
        read_verified(store, "folder/file", SHA256)
    with pytest.raises(ChecksumError, match="folder/file: its bytes are not those"):
        fetch_verified(store, "folder", {"file": SHA256}, tmp_path / "cache")


def test_missing_objects_are_refused_by_name(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(ChecksumError, match="folder/file: missing"):
        read_verified(store, "folder/file", SHA256)
    with pytest.raises(ChecksumError, match="folder/file: missing"):
        fetch_verified(store, "folder", {"file": SHA256}, tmp_path / "cache")


def test_damaged_cache_is_fetched_again(tmp_path: Path) -> None:
    store = MemoryObjectStore()
    store.write("folder/file", DATA)
    folder = fetch_verified(store, "folder", {"file": SHA256}, tmp_path)
    (folder / "file").write_bytes(b"other")
    fetch_verified(store, "folder", {"file": SHA256}, tmp_path)
    assert (folder / "file").read_bytes() == DATA
