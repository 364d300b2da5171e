"""Nothing passes with other bytes than the manifest names."""

import hashlib
import threading
from pathlib import Path

import pytest

from scp_ray.errors import ChecksumError, StorageError
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


@pytest.mark.parametrize("damage", [b"", DATA[:4], b"some bytez"])
def test_damaged_cache_is_fetched_again(tmp_path: Path, damage: bytes) -> None:
    store = MemoryObjectStore()
    store.write("folder/file", DATA)
    folder = fetch_verified(store, "folder", {"file": SHA256}, tmp_path)
    (folder / "file").write_bytes(damage)
    fetch_verified(store, "folder", {"file": SHA256}, tmp_path)
    assert (folder / "file").read_bytes() == DATA


class SlowStore(MemoryObjectStore):
    """Writes the first half of a file, and waits before the second."""

    def __init__(self) -> None:
        super().__init__()
        self.half_written = threading.Event()
        self.go_on = threading.Event()

    def download(self, key: str, path: Path) -> None:
        """Write the object's bytes to a local file in two parts."""
        data = self.read(key)
        with path.open("wb", buffering=0) as file:
            file.write(data[: len(data) // 2])
            self.half_written.set()
            assert self.go_on.wait(timeout=30)
            file.write(data[len(data) // 2 :])


def test_half_a_file_is_seen_by_nobody(tmp_path: Path) -> None:
    slow, fast = SlowStore(), MemoryObjectStore()
    for store in (slow, fast):
        store.write("folder/file", DATA)
    files = {"file": SHA256}
    thread = threading.Thread(target=fetch_verified, args=(slow, "folder", files, tmp_path))
    thread.start()
    assert slow.half_written.wait(timeout=30)
    assert not (tmp_path / "folder" / "file").exists()
    folder = fetch_verified(fast, "folder", files, tmp_path)
    assert (folder / "file").read_bytes() == DATA
    slow.go_on.set()
    thread.join()
    assert [path.read_bytes() for path in folder.iterdir()] == [DATA]


def test_what_was_fetched_damaged_is_not_kept(tmp_path: Path) -> None:
    store = MemoryObjectStore()
    store.write("folder/file", b"other")
    with pytest.raises(ChecksumError, match="folder/file: its bytes are not those"):
        fetch_verified(store, "folder", {"file": SHA256}, tmp_path)
    assert list((tmp_path / "folder").iterdir()) == []


def test_cache_of_another_store_is_checked_by_content(tmp_path: Path) -> None:
    first, second = MemoryObjectStore(), MemoryObjectStore()
    other = hashlib.sha256(b"other").hexdigest()
    first.write("folder/file", DATA)
    second.write("folder/file", b"other")
    fetch_verified(first, "folder", {"file": SHA256}, tmp_path)
    folder = fetch_verified(second, "folder", {"file": other}, tmp_path)
    assert (folder / "file").read_bytes() == b"other"


def test_what_cannot_be_put_into_the_cache_is_named(tmp_path: Path) -> None:
    store = MemoryObjectStore()
    store.write("folder/file", DATA)
    (tmp_path / "folder" / "file").mkdir(parents=True)
    with pytest.raises(StorageError, match="folder/file: Is a directory"):
        fetch_verified(store, "folder", {"file": SHA256}, tmp_path)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file"]


def test_names_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    name = "n" * 300
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=f"folder/{name}: File name too long"):
        fetch_verified(LocalObjectStore(tmp_path), "folder", {name: SHA256}, tmp_path / "cache")
