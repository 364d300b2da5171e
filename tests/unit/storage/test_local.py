"""What only the local store does; the port's contract is in tests/contract."""

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from scp_ray.errors import ObjectNotFoundError, PreconditionFailedError, StorageError
from scp_ray.storage.local import LocalObjectStore


def test_objects_are_files_below_the_root(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    store.write("a/b", b"data")
    assert (tmp_path / "a" / "b").read_bytes() == b"data"
    assert store.local_path("a/b") == tmp_path / "a" / "b"


def test_local_path_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(ObjectNotFoundError, match="no object 'a'"):
        LocalObjectStore(tmp_path).local_path("a")


def test_hidden_and_temporary_files_are_not_objects(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_bytes(b"x")
    (tmp_path / ".folder").mkdir()
    (tmp_path / ".folder" / "file").write_bytes(b"x")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    store = LocalObjectStore(tmp_path)
    store.write("a", b"1")
    assert [stored.key for stored in store.list()] == ["a"]


def test_failed_write_leaves_the_old_object(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    store.write("a", b"old")
    with pytest.raises(ObjectNotFoundError):
        store.upload(tmp_path / "absent", "a")
    assert store.read("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("scp_ray.storage.local.os.fsync", full)
    store = LocalObjectStore(tmp_path)
    with pytest.raises(StorageError, match=r"a/b: No space left on device \(free some space\)"):
        store.write("a/b", b"data")
    assert not list((tmp_path / "a").iterdir())


def test_unreadable_folder_stops_the_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalObjectStore(tmp_path)
    store.write("a/b", b"1")

    def refuse(path: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("scp_ray.storage.local.os.scandir", refuse)
    with pytest.raises(StorageError, match="cannot list .*: Permission denied"):
        list(store.list())


def test_objects_are_readable_as_the_umask_says(tmp_path: Path) -> None:
    previous = os.umask(0o022)
    try:
        LocalObjectStore(tmp_path).write("a/b", b"1")
    finally:
        os.umask(previous)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o644


def test_delete_removes_empty_folders_but_not_the_root(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    store.write("a/b/c", b"1")
    store.write("a/d", b"1")
    store.delete("a/b/c")
    assert not (tmp_path / "a" / "b").exists()
    store.delete("a/d")
    assert tmp_path.exists()
    assert not list(tmp_path.iterdir())


def _race(root: Path, number: int, rounds: int) -> int:
    store, won = LocalObjectStore(root), 0
    for _ in range(rounds):
        _, version = store.read_versioned("counter")
        try:
            store.compare_and_swap("counter", f"{number}-{won}".encode(), expected=version)
        except PreconditionFailedError:
            continue
        won += 1
        data, _ = store.read_versioned("log")
        store.write(f"wins/{number}/{won}", data)
    return won


def test_two_processes_never_both_win_a_swap(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    store.write("counter", b"start")
    store.write("log", b"")
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        wins = pool.starmap(_race, [(tmp_path, 1, 50), (tmp_path, 2, 50)])
    final = store.read("counter").decode()
    number, last = (int(part) for part in final.split("-"))
    assert last == wins[number - 1] - 1
    assert sum(wins) >= 50
