"""An object store in an S3 bucket, or in what speaks S3: swapped by conditional writes.

Credentials, region and endpoint are those of the AWS SDK: environment, profile or role of the
machine, and ``AWS_ENDPOINT_URL`` for other servers. A failed request is retried by the SDK's
client, with jitter; what it cannot see, a body that was cut short and a conflict of two writes, is
retried here.
"""

import re
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from random import SystemRandom
from typing import IO, Any, TypeVar

from typing_extensions import override

from scp_ray.errors import (
    ConfigError,
    ObjectNotFoundError,
    PreconditionFailedError,
    StorageError,
    TransientStorageError,
)
from scp_ray.protocols import StoredObject
from scp_ray.storage.keys import checked_key
from scp_ray.storage.s3_errors import (
    ConflictError,
    ExpiredCredentialsError,
    changed_message,
    typed_errors,
)

SCHEME = "s3://"

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]")
_TRIES = 6  # 0.5 to 30 s of waiting in all, which a throttled prefix needs to recover
_FIRST_PAUSE_S = 0.5
_MAX_PAUSE_S = 8.0
_CONNECT_TIMEOUT_S = 10
_READ_TIMEOUT_S = 60
_CONNECTIONS = 32  # kept open for next time: an upload has 10, and threads may share a store
_MULTIPART_BYTES = 16 * 1024 * 1024

_Taken = TypeVar("_Taken")


class S3ObjectStore:
    """Objects of a bucket below a prefix.

    An instance crosses process borders as its address: the client is made where it is first used,
    so that each process finds and refreshes its own credentials. Threads may share an instance.

    Attributes:
        url: ``s3://bucket/prefix``, without a slash at the end.
    """

    def __init__(self, url: str) -> None:
        bucket, _, prefix = url.removeprefix(SCHEME).rstrip("/").partition("/")
        if not url.startswith(SCHEME) or not _BUCKET.fullmatch(bucket):
            message = f"{url}: not an address of the form s3://bucket/prefix"
            raise ConfigError(message)
        try:
            self._root = f"{checked_key(prefix)}/" if prefix else ""
        except StorageError as error:
            message = f"{url}: {error}"
            raise ConfigError(message) from error
        self._bucket = bucket
        self.url = f"{SCHEME}{bucket}/{prefix}".rstrip("/")
        self._lock = threading.Lock()
        self._client: Any = None

    @override
    def __reduce__(self) -> tuple[type["S3ObjectStore"], tuple[str]]:
        return type(self), (self.url,)

    def read(self, key: str) -> bytes:
        """Return the bytes of an object."""
        return self.read_versioned(key)[0]

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """Return bytes and version (the ETag) of one state of an object."""
        return self._receive(key, _read_body)

    def write(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        self._put(key, data)

    def upload(self, path: Path, key: str) -> None:
        """Create or replace an object from a local file, a large one in parts at once."""
        full_key = self._full_key(key)
        self._do(key, lambda client: _upload(client, path, self._bucket, full_key))

    def compare_and_swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        """Write only if the object has this version (None: does not exist).

        A write may succeed and its answer be lost. So where the write is refused or not answered,
        the object is read again, and ``data`` found there is success: it must name its writer.
        """
        condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": expected}
        try:
            return self._put_settled(key, data, condition)
        except ObjectNotFoundError as error:
            raise PreconditionFailedError(changed_message(f"{self.url}/{key}")) from error
        except (PreconditionFailedError, TransientStorageError) as error:
            return self._version_if_ours(key, data, error)

    def local_path(self, key: str) -> Path | None:
        """Return None: every object must be downloaded."""
        checked_key(key)
        return None

    def download(self, key: str, path: Path) -> None:
        """Write the object's bytes to a local file, which is there whole or not at all."""
        temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
        try:
            self._receive(key, lambda response: _save_body(response, temporary))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose key starts with ``prefix``, ordered by key.

        All are sorted before the first one is given: not every server lists in the order of S3.
        """
        yield from self._do(
            prefix, lambda client: sorted(self._pages(client, prefix), key=lambda found: found.key)
        )

    def is_empty(self) -> bool:
        """Say whether there is no object, from the first page of the list."""
        return self._do("", lambda client: next(self._pages(client, ""), None) is None)

    def keeps_old_versions(self) -> bool:
        """Say whether what is deleted or replaced below the prefix stays as an old version.

        So it is while the bucket has versioning enabled, and where it is suspended and there are
        old versions from before.
        """
        return self._do("", self._has_versioning)

    def _has_versioning(self, client: Any) -> bool:  # noqa: ANN401
        status = client.get_bucket_versioning(Bucket=self._bucket).get("Status")
        if status != "Suspended":
            return bool(status == "Enabled")
        pages = client.get_paginator("list_object_versions")
        return any(
            page.get("DeleteMarkers")
            or not all(one["IsLatest"] for one in page.get("Versions", []))
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._root)
        )

    def delete(self, key: str) -> None:
        """Remove an object; no error if there is none."""
        try:
            self._call("delete_object", key)
        except ObjectNotFoundError:
            return

    def _pages(self, client: Any, prefix: str) -> Iterator[StoredObject]:  # noqa: ANN401
        pages = client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self._bucket, Prefix=self._root + prefix):
            for item in page.get("Contents", []):
                if not item["Key"].endswith("/"):  # how some tools keep an empty folder
                    key = item["Key"].removeprefix(self._root)
                    yield StoredObject(key, item["Size"], item["ETag"])

    def _full_key(self, key: str) -> str:
        return self._root + checked_key(key)

    def _connected(self) -> Any:  # noqa: ANN401 - the SDK makes its classes at run time
        with self._lock:
            if self._client is None:
                self._client = _make_client()
            return self._client

    def _do(self, key: str, act: Callable[[Any], _Taken]) -> _Taken:
        """Let ``act`` use the client; a new one, with newer credentials, if those were expired."""
        where = f"{self.url}/{key}".rstrip("/")
        try:
            with typed_errors(where):
                return act(self._connected())
        except ExpiredCredentialsError:
            with self._lock:
                self._client = None
        with typed_errors(where):
            return act(self._connected())

    def _call(self, operation: str, key: str, **arguments: object) -> dict[str, Any]:
        names = {"Bucket": self._bucket, "Key": self._full_key(key)}
        return self._do(key, lambda client: getattr(client, operation)(**names, **arguments))

    def _put(self, key: str, data: bytes, condition: Mapping[str, str] | None = None) -> str:
        etag: str = self._call("put_object", key, Body=data, **(condition or {}))["ETag"]
        return etag

    def _put_settled(self, key: str, data: bytes, condition: Mapping[str, str]) -> str:
        for attempt in range(1, _TRIES):
            try:
                return self._put(key, data, condition)
            except ConflictError:
                _pause(attempt)
        return self._put(key, data, condition)

    def _receive(self, key: str, take: Callable[[Mapping[str, Any]], _Taken]) -> tuple[_Taken, str]:
        """Let ``take`` read the body of an object, again if it was cut short; and its version."""
        from botocore.exceptions import BotoCoreError
        from urllib3.exceptions import HTTPError

        fault: Exception | None = None
        for attempt in range(_TRIES):
            _pause(attempt)
            response = self._call("get_object", key)
            try:
                return take(response), response["ETag"]
            except (BotoCoreError, HTTPError) as error:
                fault = error
        message = f"{self.url}/{key}: cut short {_TRIES} times ({fault}); try again later"
        raise TransientStorageError(message) from fault

    def _version_if_ours(self, key: str, data: bytes, error: StorageError) -> str:
        try:
            found, version = self.read_versioned(key)
        except ObjectNotFoundError:
            raise error from None
        if found == data:
            return version
        raise error


def _make_client() -> Any:  # noqa: ANN401 - the SDK makes its classes at run time
    from boto3.session import Session
    from botocore.config import Config
    from botocore.session import get_session

    session = get_session()
    session.register_component("data_loader", _api_descriptions())
    config = Config(
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
        max_pool_connections=_CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": _TRIES},
    )
    try:
        return Session(botocore_session=session).client("s3", config=config)
    except ValueError as error:
        message = f"the S3 client cannot be set up: {error}; see AWS_ENDPOINT_URL"
        raise ConfigError(message) from error


@cache
def _api_descriptions() -> Any:  # noqa: ANN401 - as above
    """Share what the SDK reads from its own files, 0.3 s a client, between clients."""
    from botocore.loaders import create_loader

    return create_loader()


def _upload(client: Any, path: Path, bucket: str, full_key: str) -> None:  # noqa: ANN401
    from boto3.s3.transfer import TransferConfig, create_transfer_manager

    config = TransferConfig(
        multipart_threshold=_MULTIPART_BYTES,
        multipart_chunksize=_MULTIPART_BYTES,
        preferred_transfer_client="classic",
    )
    with create_transfer_manager(client, config) as manager:
        manager.upload(str(path), bucket, full_key).result()


def _pause(attempt: int) -> None:
    """Wait before a repetition: a random part of a time that doubles."""
    if attempt:
        longest = min(_MAX_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempt - 1))
        time.sleep(SystemRandom().uniform(0, longest))


def _read_body(response: Mapping[str, Any]) -> bytes:
    data: bytes = response["Body"].read()
    _check_length(response, len(data))
    return data


def _save_body(response: Mapping[str, Any], path: Path) -> None:
    with path.open("wb") as file:
        body: IO[bytes] = response["Body"]
        shutil.copyfileobj(body, file)
        _check_length(response, file.tell())


def _check_length(response: Mapping[str, Any], num_bytes: int) -> None:
    from botocore.exceptions import IncompleteReadError

    expected = response["ContentLength"]
    if num_bytes != expected:
        raise IncompleteReadError(actual_bytes=num_bytes, expected_bytes=expected)
