"""What every object store must do, over the fake, the local folder and a real S3 server."""

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from scp_ray.errors import ObjectNotFoundError, PreconditionFailedError, StorageError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.s3 import S3ObjectStore
from scp_ray.testing import MemoryObjectStore

KEYS = ["CURRENT", "shards/00003/index.faiss", "runs/a b/é.json", "a", "ab", "a.b/c"]
KEYS += ["runs/x", "runs.old", "runs-1/y"]  # not in the order of their folders


@pytest.fixture(params=["memory", "local", pytest.param("s3", marks=pytest.mark.integration)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "memory":
        return MemoryObjectStore()
    if request.param == "local":
        return LocalObjectStore(tmp_path / "s")
    return S3ObjectStore(request.getfixturevalue("s3_address"))


@pytest.mark.parametrize("data", [b"", b"data", bytes(range(256)) * 1000])
def test_what_was_written_is_read(store: ObjectStore, tmp_path: Path, data: bytes) -> None:
    store.write("folder/key", data)
    assert store.read("folder/key") == data
    assert store.read_versioned("folder/key")[0] == data
    store.download("folder/key", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == data


def test_write_replaces(store: ObjectStore) -> None:
    store.write("key", b"a longer first state")
    store.write("key", b"second")
    assert store.read("key") == b"second"
    assert [stored.key for stored in store.list()] == ["key"]


def test_upload_takes_a_file_and_leaves_it(store: ObjectStore, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    store.upload(file, "folder/key")
    assert store.read("folder/key") == file.read_bytes() == b"content"


def test_local_path_is_of_the_same_bytes(store: ObjectStore) -> None:
    store.write("folder/key", b"content")
    path = store.local_path("folder/key")
    assert path is None or path.read_bytes() == b"content"


def test_what_is_not_there(store: ObjectStore, tmp_path: Path) -> None:
    store.write("folder/key", b"1")
    for missing in ("nothing", "folder/nothing", "folder", "folder/key/deeper"):
        for read in (store.read, store.read_versioned):
            with pytest.raises(ObjectNotFoundError, match=missing):
                read(missing)
        with suppress(ObjectNotFoundError):  # to look for it would take a store elsewhere a request
            assert store.local_path(missing) is None
        with pytest.raises(ObjectNotFoundError, match=missing):
            store.download(missing, tmp_path / "copy")
        assert not (tmp_path / "copy").exists()


def test_listing_is_sorted_and_by_prefix(store: ObjectStore) -> None:
    assert list(store.list()) == []
    for number, key in enumerate(KEYS):
        store.write(key, b"x" * number)
    assert [stored.key for stored in store.list()] == sorted(KEYS)
    assert {stored.key: stored.size_bytes for stored in store.list()} == {
        key: number for number, key in enumerate(KEYS)
    }
    for prefix in ("a", "a.", "a.b/", "shards/", "shards/00", "runs/a b/é.json", "none", "a/"):
        expected = sorted(key for key in KEYS if key.startswith(prefix))
        assert [stored.key for stored in store.list(prefix)] == expected


def test_delete(store: ObjectStore) -> None:
    store.write("folder/key", b"1")
    store.write("folder/other", b"2")
    store.delete("folder/key")
    store.delete("folder/key")
    store.delete("never/was")
    assert [stored.key for stored in store.list()] == ["folder/other"]
    with pytest.raises(ObjectNotFoundError, match="folder/key"):
        store.read("folder/key")


def test_versions_tell_states_apart(store: ObjectStore) -> None:
    store.write("key", b"one")
    _, first = store.read_versioned("key")
    (listed_first,) = store.list("key")
    assert store.read_versioned("key") == (b"one", first)
    assert list(store.list("key")) == [listed_first]
    store.write("key", b"two")
    assert store.read_versioned("key")[1] != first
    (listed_second,) = store.list("key")
    assert listed_second.version != listed_first.version


def test_swap_creates_only_what_is_not_there(store: ObjectStore) -> None:
    version = store.compare_and_swap("key", b"one", expected=None)
    assert store.read_versioned("key") == (b"one", version)
    with pytest.raises(PreconditionFailedError, match="key"):
        store.compare_and_swap("key", b"two", expected=None)
    assert store.read("key") == b"one"


def test_swap_replaces_only_the_expected_state(store: ObjectStore) -> None:
    first = store.compare_and_swap("key", b"one", expected=None)
    second = store.compare_and_swap("key", b"two", expected=first)
    assert store.read_versioned("key") == (b"two", second)
    for stale in (first, "never a version"):
        with pytest.raises(PreconditionFailedError, match="key"):
            store.compare_and_swap("key", b"three", expected=stale)
    store.write("key", b"written past the swap")
    with pytest.raises(PreconditionFailedError, match="key"):
        store.compare_and_swap("key", b"three", expected=second)
    store.delete("key")
    with pytest.raises(PreconditionFailedError, match="key"):
        store.compare_and_swap("key", b"three", expected=second)
    assert list(store.list()) == []


def test_one_of_many_swaps_wins(store: ObjectStore) -> None:
    start = store.compare_and_swap("key", b"start", expected=None)
    barrier = threading.Barrier(8)
    won: list[bytes] = []

    def swap(data: bytes) -> None:
        barrier.wait()
        try:
            store.compare_and_swap("key", data, expected=start)
        except PreconditionFailedError:
            return
        won.append(data)

    threads = [threading.Thread(target=swap, args=(b"%d" % number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [store.read("key")]


def test_readers_see_whole_objects(store: ObjectStore) -> None:
    states = [bytes([number]) * 50_000 for number in range(2)]
    store.write("key", states[0])
    seen: list[bytes] = []

    def read() -> None:
        seen.extend(store.read("key") for _ in range(100))

    reader = threading.Thread(target=read)
    reader.start()
    while reader.is_alive():
        for state in states:
            store.write("key", state)
    reader.join()
    assert len(seen) == 100
    assert set(seen) <= set(states)


@pytest.mark.parametrize(
    "key", ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\\b", "a\0b"]
)
def test_unsafe_keys_are_refused(store: ObjectStore, tmp_path: Path, key: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1")
    calls = [
        lambda: store.read(key),
        lambda: store.read_versioned(key),
        lambda: store.write(key, b"1"),
        lambda: store.upload(file, key),
        lambda: store.compare_and_swap(key, b"1", expected=None),
        lambda: store.local_path(key),
        lambda: store.download(key, tmp_path / "copy"),
        lambda: store.delete(key),
    ]
    for call in calls:
        with pytest.raises(StorageError, match="unsafe object key"):
            call()
    assert list(store.list()) == []
