"""Addresses of buckets, what crosses process borders, and errors that need no server."""

from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest

from scp_ray.errors import ConfigError, StorageError, TransientStorageError
from scp_ray.storage import s3
from scp_ray.storage.s3 import S3ObjectStore


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/", "s3://bucket"),
        ("s3://bucket/a/b c/", "s3://bucket/a/b c"),
        ("s3://my.bucket-1/é", "s3://my.bucket-1/é"),
    ],
)
def test_address(address: str, url: str) -> None:
    assert S3ObjectStore(address).url == url


@pytest.mark.parametrize(
    "address",
    ["s3://", "s3:///a", "s3://ab", "s3://a_b c/d", "s3://bucket/a//b", "s3://bucket/../b", "/a"],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ConfigError, match="not an address|unsafe object key"):
        S3ObjectStore(address)


def test_another_process_gets_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    store = S3ObjectStore("s3://bucket/index")
    store._connected()  # holds locks and sockets, which no other process could take over
    copy = ForkingPickler.loads(ForkingPickler.dumps(store))
    assert copy.url == "s3://bucket/index"


def test_no_credentials() -> None:
    with pytest.raises(StorageError, match="s3://bucket/key: no credentials .*by environment"):
        S3ObjectStore("s3://bucket").read("key")


def test_endpoint_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "no address")
    with pytest.raises(ConfigError, match="see AWS_ENDPOINT_URL"):
        S3ObjectStore("s3://bucket").read("key")


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(s3, "_TRIES", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    store = S3ObjectStore("s3://bucket")
    calls = [
        lambda: store.read("key"),
        lambda: store.write("key", b"1"),
        lambda: store.compare_and_swap("key", b"1", expected=None),
        lambda: store.download("key", tmp_path / "copy"),
        lambda: list(store.list()),
        store.is_empty,
    ]
    for call in calls:
        with pytest.raises(TransientStorageError, match="not answered .*check the endpoint"):
            call()
    assert list(tmp_path.iterdir()) == []
