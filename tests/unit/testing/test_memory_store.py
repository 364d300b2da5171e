"""What only the store in memory does; the port's contract is in tests/contract."""

from pathlib import Path

import pytest

from scp_ray.errors import ObjectNotFoundError
from scp_ray.testing import MemoryObjectStore


def test_stores_share_nothing() -> None:
    MemoryObjectStore().write("key", b"1")
    with pytest.raises(ObjectNotFoundError, match="no object 'key'"):
        MemoryObjectStore().read("key")


def test_later_changes_of_a_buffer_do_not_reach_the_object() -> None:
    store = MemoryObjectStore()
    buffer = bytearray(b"old")
    store.write("key", buffer)
    buffer[:] = b"new"
    assert store.read("key") == b"old"


def test_objects_have_no_path(tmp_path: Path) -> None:
    store = MemoryObjectStore()
    store.write("key", b"1")
    assert store.local_path("key") is None
    store.download("key", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"1"


def test_listing_is_that_of_one_moment() -> None:
    store = MemoryObjectStore()
    for number in range(3):
        store.write(f"key{number}", b"1")
    listed = store.list()
    first = next(listed)
    store.delete("key1")
    assert [first.key, *(stored.key for stored in listed)] == ["key0", "key1", "key2"]
