"""A store whose calls are watched."""

from pathlib import Path

import pytest
from typing_extensions import override

from scp_ray.errors import ObjectNotFoundError, PreconditionFailedError
from scp_ray.testing import MemoryObjectStore
from scp_ray.testing.intercepted_store import InterceptedStore, StoreCall, StoreWatch


class Diary(StoreWatch):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    @override
    def before(self, call: StoreCall) -> None:
        self.lines.append(f"{call.number} {call.operation} {call.key}")

    @override
    def after(self, call: StoreCall) -> None:
        self.lines.append(f"{call.number} done")


def test_answers_are_those_of_the_other_store(tmp_path: Path) -> None:
    inner = MemoryObjectStore()
    store = InterceptedStore(inner, StoreWatch())
    assert store.url == "memory://"
    version = store.compare_and_swap("a", b"1", expected=None)
    assert store.read_versioned("a") == (b"1", version)
    (tmp_path / "file").write_bytes(b"2")
    store.upload(tmp_path / "file", "folder/b")
    store.write("c", b"3")
    assert [stored.key for stored in store.list()] == ["a", "c", "folder/b"]
    assert (store.read("folder/b"), store.local_path("c")) == (b"2", None)
    store.download("c", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"3"
    store.delete("c")
    assert [stored.key for stored in inner.list()] == ["a", "folder/b"]


def test_every_call_is_told_before_and_after() -> None:
    diary = Diary()
    store = InterceptedStore(MemoryObjectStore(), diary)
    store.write("a", b"1")
    list(store.list("a"))
    assert diary.lines == ["1 write a", "1 done", "2 list a", "2 done"]
    assert diary.num_calls == 2


def test_stores_of_one_watch_are_counted_together() -> None:
    watch = StoreWatch()
    for _ in range(3):
        InterceptedStore(MemoryObjectStore(), watch).write("a", b"1")
    assert watch.num_calls == 3


def test_a_call_that_the_store_refuses_is_not_told_as_done() -> None:
    diary = Diary()
    store = InterceptedStore(MemoryObjectStore(), diary)
    with pytest.raises(ObjectNotFoundError, match="no object 'a'"):
        store.read("a")
    with pytest.raises(PreconditionFailedError, match="a: changed by somebody else"):
        store.compare_and_swap("a", b"1", expected="other")
    assert diary.lines == ["1 read a", "2 compare_and_swap a"]


def test_what_a_hook_raises_stops_the_call_before_it_and_hides_its_answer_after_it() -> None:
    class Cut(StoreWatch):
        @override
        def before(self, call: StoreCall) -> None:
            if call.key == "a":
                raise TimeoutError(call.key)

        @override
        def after(self, call: StoreCall) -> None:
            raise TimeoutError(call.key)

    inner = MemoryObjectStore()
    store = InterceptedStore(inner, Cut())
    for key in "ab":
        with pytest.raises(TimeoutError, match=key):
            store.write(key, b"1")
    assert [stored.key for stored in inner.list()] == ["b"]


def test_calls_that_can_change_the_store() -> None:
    changing = [
        name for name in ("read", "list", "write", "delete") if StoreCall(1, name, "").is_writing
    ]
    assert changing == ["write", "delete"]
