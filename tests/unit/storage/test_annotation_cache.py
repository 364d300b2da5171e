"""Answers that were paid for, on a store that several writers share."""

import hashlib
import logging

import pytest

from scp_ray.errors import StorageError
from scp_ray.storage.annotation_cache import (
    StoredAnnotationCache,
    forget_answers,
    parts_with,
)
from scp_ray.testing import MemoryObjectStore

FINGERPRINT = "f" * 64


def key(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).digest()[:16]


@pytest.fixture
def store() -> MemoryObjectStore:
    return MemoryObjectStore()


def test_answers_are_found_before_and_after_a_flush_and_by_others(store: MemoryObjectStore) -> None:
    cache = StoredAnnotationCache(store, FINGERPRINT)
    for number in range(100):
        cache.put(key(number), f"answer {number}")
    assert cache.get(key(7)) == "answer 7"
    assert StoredAnnotationCache(store, FINGERPRINT).get(key(7)) is None
    cache.flush()
    later = StoredAnnotationCache(store, FINGERPRINT)
    assert [later.get(key(number)) for number in (0, 7, 99, 100)] == [
        *("answer 0", "answer 7", "answer 99"),
        None,
    ]
    assert cache.get(key(7)) == "answer 7"


def test_keys_that_end_in_zero_bytes_are_told_apart(store: MemoryObjectStore) -> None:
    cache = StoredAnnotationCache(store, FINGERPRINT)
    keys = [b"k" + bytes(15), b"k" * 15 + bytes(1), b"k" * 16, bytes(16)]
    for number, one in enumerate(keys):
        cache.put(one, str(number))
    cache.flush()
    assert [cache.get(one) for one in keys] == ["0", "1", "2", "3"]


def test_writers_see_each_others_answers_after_a_flush(store: MemoryObjectStore) -> None:
    first, second = (StoredAnnotationCache(store, FINGERPRINT) for _ in range(2))
    for number in range(40):  # many small parts, merged in memory
        (first if number % 2 else second).put(key(number), str(number))
        first.flush()
        second.flush()
    first.flush()
    for cache in (first, second):
        assert [cache.get(key(number)) for number in range(40)] == [str(n) for n in range(40)]


def test_other_models_have_other_answers(store: MemoryObjectStore) -> None:
    cache = StoredAnnotationCache(store, FINGERPRINT)
    cache.put(key(1), "mine")
    cache.flush()
    assert StoredAnnotationCache(store, "e" * 64).get(key(1)) is None


def test_nothing_new_writes_nothing(store: MemoryObjectStore) -> None:
    cache = StoredAnnotationCache(store, FINGERPRINT)
    cache.put(key(1), "answer")
    cache.flush()
    cache.flush()
    assert len(list(store.list())) == 1


@pytest.mark.parametrize("damage", [b"", b"PAR1 of something else"])
def test_a_damaged_part_counts_as_not_there(
    store: MemoryObjectStore, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    cache = StoredAnnotationCache(store, FINGERPRINT)
    cache.put(key(1), "answer")
    cache.flush()
    part = next(store.list()).key
    store.write(part, damage)
    with caplog.at_level(logging.WARNING):
        assert StoredAnnotationCache(store, FINGERPRINT).get(key(1)) is None
    assert part in caplog.text


def test_a_store_that_fails_loses_no_answer(store: MemoryObjectStore) -> None:
    class Failing(MemoryObjectStore):
        is_down = True

        def write(self, key: str, data: bytes) -> None:
            if self.is_down:
                message = "full"
                raise StorageError(message)
            super().write(key, data)

    failing = Failing()
    cache = StoredAnnotationCache(failing, FINGERPRINT)
    cache.put(key(1), "answer")
    cache.flush()
    assert cache.get(key(1)) == "answer"
    failing.is_down = False
    cache.flush()
    assert StoredAnnotationCache(failing, FINGERPRINT).get(key(1)) == "answer"


def test_forgotten_answers_are_in_no_part_of_any_model(store: MemoryObjectStore) -> None:
    for fingerprint in (FINGERPRINT, "e" * 64):
        cache = StoredAnnotationCache(store, fingerprint)
        for number in range(10):
            cache.put(key(number), str(number))
            if number in {3, 9}:
                cache.flush()
    kept = {stored.key for stored in store.list()}
    gone = forget_answers(store, [key(4), key(9), key(77)])
    assert len(gone) == 2
    assert parts_with(store, [key(4), key(9)]) == []
    assert len(kept & {stored.key for stored in store.list()}) == 2
    cache = StoredAnnotationCache(store, FINGERPRINT)
    found = [number for number in range(10) if cache.get(key(number)) == str(number)]
    assert found == [0, 1, 2, 3, 5, 6, 7, 8]
    assert forget_answers(store, [key(4)]) == []


def test_a_part_with_nothing_else_goes_and_so_does_a_damaged_one(store: MemoryObjectStore) -> None:
    cache = StoredAnnotationCache(store, FINGERPRINT)
    cache.put(key(1), "answer")
    cache.flush()
    store.write(f"annotations/{FINGERPRINT}/{'0' * 64}.parquet", b"damaged")
    assert len(forget_answers(store, [key(1)])) == 2
    assert list(store.list()) == []
