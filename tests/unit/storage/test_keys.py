"""Object keys."""

import pytest

from scp_ray.errors import StorageError
from scp_ray.storage.keys import (
    checked_key,
    generation_folder,
    report_key,
    shard_folder,
    staged_folder,
)


@pytest.mark.parametrize("key", ["a", "a/b.txt", "runs/x/staged/00001/y", "..a/b..", "ä/ö"])
def test_safe_keys_pass(key: str) -> None:
    assert checked_key(key) == key


@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a/.", "a\\b", "a\0b", ".."]
)
def test_keys_that_could_leave_the_root_are_refused(key: str) -> None:
    with pytest.raises(StorageError, match="unsafe object key"):
        checked_key(key)


def test_layout_is_the_documented_one() -> None:
    assert generation_folder(7, "run") == "generations/000007-run"
    assert staged_folder("run", 3) == "runs/run/staged/00003"
    assert report_key("run") == "runs/run/report.json"


def test_shard_folder_is_named_by_content_whatever_the_order() -> None:
    one = shard_folder(3, {"a": "1" * 64, "b": "2" * 64})
    assert one == shard_folder(3, {"b": "2" * 64, "a": "1" * 64})
    assert one != shard_folder(3, {"a": "2" * 64, "b": "1" * 64})
    assert one.startswith("shards/00003/")
