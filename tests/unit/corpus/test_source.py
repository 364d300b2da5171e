"""Files of a store as local files."""

from collections.abc import Callable

import pytest

from scp_ray.corpus.source import local_file, oversized, reading
from scp_ray.errors import (
    ConfigError,
    DocumentError,
    ObjectNotFoundError,
    QuarantineReason,
    TransientStorageError,
)
from scp_ray.protocols import ObjectStore


def test_an_object_can_be_read_at_a_path(store_of: Callable[..., ObjectStore]) -> None:
    store = store_of({"a/b.txt": b"text"})
    with local_file(store, "a/b.txt") as path:
        assert path.read_bytes() == b"text"
        assert path.name == "b.txt"
    assert path.exists() == (store.local_path("a/b.txt") is not None)


@pytest.mark.parametrize(
    "error", [ObjectNotFoundError("no a"), TransientStorageError("503"), PermissionError(13, "no")]
)
def test_what_a_store_refuses_is_unreadable(error: Exception) -> None:
    with pytest.raises(DocumentError, match="cannot read a.txt") as caught, reading("a.txt"):
        raise error
    assert caught.value.reason is QuarantineReason.UNREADABLE


def test_other_errors_pass() -> None:
    with pytest.raises(ConfigError, match="wrong"), reading("a.txt"):
        raise ConfigError("wrong")  # noqa: EM101 - a short test


def test_oversized_names_the_setting() -> None:
    assert oversized(11, 10, "the file").detail == (
        "the file has 11 bytes; corpus.max_document_bytes is 10"
    )
