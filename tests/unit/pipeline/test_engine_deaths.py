"""Which documents are blamed for the death of an engine."""

import threading
from contextlib import ExitStack

import pytest

from scp_ray.errors import EngineDeadError, StorageError
from scp_ray.pipeline.engine_deaths import Deaths, EngineDeaths
from scp_ray.testing import MemoryObjectStore


@pytest.fixture
def store() -> MemoryObjectStore:
    return MemoryObjectStore()


def die(deaths: EngineDeaths, *contents: str, alone: bool = False) -> None:
    with pytest.raises(EngineDeadError), deaths.watched(contents, alone=alone):
        raise EngineDeadError


def in_work(*deaths: str) -> Deaths:
    return Deaths(tuple(frozenset(one) for one in deaths))


@pytest.mark.parametrize(
    ("deaths", "causes"),
    [
        (in_work(), ""),
        (in_work("abc"), ""),
        (in_work("a"), ""),
        (in_work("abc", "abc"), ""),
        (in_work("abc", "b"), "b"),
        (in_work("b", "b"), "b"),
        (in_work("abc", "b", "c"), "bc"),
    ],
)
def test_the_cause_is_what_engines_died_on_twice_and_once_alone(
    deaths: Deaths, causes: str
) -> None:
    assert "".join(one for one in "abc" if deaths.are_caused_by(one)) == causes


def test_all_that_is_in_work_is_noted_and_nothing_that_is_done(store: MemoryObjectStore) -> None:
    deaths = EngineDeaths(store, "run")
    with deaths.watched(["done"]):
        pass
    with deaths.watched(["a", "b"]):
        die(deaths, "c")
    assert EngineDeaths(store, "run").read() == in_work("abc")
    assert EngineDeaths(store, "another").read() == Deaths()


def test_one_death_is_noted_once_though_every_thread_is_told(store: MemoryObjectStore) -> None:
    deaths = EngineDeaths(store, "run")
    with ExitStack() as others:
        others.enter_context(pytest.raises(EngineDeadError))
        others.enter_context(deaths.watched(["a"]))
        die(deaths, "b")
        raise EngineDeadError
    assert deaths.read() == in_work("ab")


def test_no_thread_goes_on_before_the_death_is_written(
    store: MemoryObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends with the first thread that is told."""
    deaths, write = EngineDeaths(store, "run"), store.write
    both_work, is_writing, may_write = threading.Barrier(2), threading.Event(), threading.Event()

    def slow(key: str, data: bytes) -> None:
        is_writing.set()
        assert may_write.wait(10)
        write(key, data)

    def work(content: str) -> None:
        with pytest.raises(EngineDeadError), deaths.watched([content]):
            both_work.wait(10)
            raise EngineDeadError

    monkeypatch.setattr(store, "write", slow)
    threads = [threading.Thread(target=work, args=(content,)) for content in "ab"]
    for thread in threads:
        thread.start()
    assert is_writing.wait(10)
    for thread in threads:
        thread.join(0.2)
    assert all(thread.is_alive() for thread in threads)
    may_write.set()
    for thread in threads:
        thread.join(10)
    assert deaths.read() == in_work("ab")


def test_other_errors_blame_nobody(store: MemoryObjectStore) -> None:
    deaths = EngineDeaths(store, "run")
    with pytest.raises(ValueError, match="wrong"), deaths.watched(["a"]):
        message = "wrong"
        raise ValueError(message)
    assert deaths.read() == Deaths()


@pytest.mark.parametrize("damaged", [b"", b"[1]", b'{"a": 1}', b"\xff"])
def test_what_is_no_list_of_documents_is_named(store: MemoryObjectStore, damaged: bytes) -> None:
    store.write("runs/run/engine-deaths/x.json", damaged)
    with pytest.raises(StorageError, match=r"runs/run/engine-deaths/x\.json"):
        EngineDeaths(store, "run").read()


def test_a_store_that_fails_does_not_hide_the_death(
    store: MemoryObjectStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_key: str, _data: bytes) -> None:
        message = "the disk is full"
        raise StorageError(message)

    monkeypatch.setattr(store, "write", refuse)
    die(EngineDeaths(store, "run"), "a")
    assert "the disk is full" in caplog.text


def test_one_that_is_alone_waits_for_others_and_they_for_it(store: MemoryObjectStore) -> None:
    deaths, diary = EngineDeaths(store, "run"), []
    first_goes_on, alone_goes_on = threading.Event(), threading.Event()
    has_begun = threading.Event()

    def work(name: str, may_end: threading.Event, *, alone: bool) -> None:
        with deaths.watched([name], alone=alone):
            diary.append(f"{name} begins")
            has_begun.set()
            assert may_end.wait(10)
            diary.append(f"{name} ends")

    def start(name: str, may_end: threading.Event, *, alone: bool = False) -> threading.Thread:
        thread = threading.Thread(target=work, args=(name, may_end), kwargs={"alone": alone})
        thread.start()
        return thread

    threads = [start("first", first_goes_on)]
    assert has_begun.wait(10)
    threads.append(start("alone", alone_goes_on, alone=True))
    while not deaths._num_waiting:
        pass
    threads.append(start("late", alone_goes_on))
    first_goes_on.set()
    while "alone begins" not in diary:
        pass
    assert "late begins" not in diary
    alone_goes_on.set()
    for thread in threads:
        thread.join(10)
    order = ["first begins", "first ends", "alone begins", "alone ends", "late begins", "late ends"]
    assert diary == order
