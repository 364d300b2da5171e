"""The checks behind ``scp-ray doctor``; each says what it found and what to do."""

import http.client
import socket
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version

from scp_ray.config import Settings
from scp_ray.corpus.chunker import check_budgets
from scp_ray.embedding.factory import load_encoder
from scp_ray.errors import PreconditionFailedError, ScpRayError, StorageError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.opening import is_on_s3, open_existing, open_store
from scp_ray.storage.s3 import S3ObjectStore

_PACKAGES = ("ray", "pyarrow", "numpy", "faiss-cpu", "torch", "sentence-transformers", "boto3")
_RAY_PORTS = {6379: "GCS", 8265: "dashboard and jobs", 10001: "Ray client"}
_DASHBOARD_PORT = 8265
_TIMEOUT_S = 1.0
_UNAUTHORIZED = {401, 403}
_ADVICE = "start Ray with RAY_AUTH_MODE=token"


class CheckStatus(StrEnum):
    """Outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        status: How it is.
        detail: What was found, and what to do if it is not well.
    """

    name: str
    status: CheckStatus
    detail: str


def diagnose(settings: Settings, index: str | None) -> Iterator[Check]:
    """Yield the checks of this machine, and of the store at ``index`` if it is given."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    yield Check("python", CheckStatus.OK, python)
    for package in _PACKAGES:
        yield _check_package(package)
    yield _check_device()
    yield _check_encoder(settings)
    if index is not None:
        yield from _check_index(index)
    for port, name in _RAY_PORTS.items():
        yield check_ray_port("127.0.0.1", port, name)


def _check_package(package: str) -> Check:
    try:
        return Check(package, CheckStatus.OK, version(package))
    except PackageNotFoundError:
        return Check(package, CheckStatus.FAILED, f"not installed; pip install {package}")


def _check_device() -> Check:
    import torch

    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
        return Check("device", CheckStatus.OK, ", ".join(names))
    threads = torch.get_num_threads()
    return Check("device", CheckStatus.OK, f"no GPU; the encoder runs on {threads} CPU threads")


def _check_encoder(settings: Settings) -> Check:
    try:
        encoder = load_encoder(settings.embedding)
        check_budgets(settings.chunking, encoder.max_tokens)
    except ScpRayError as error:
        return Check("encoder", CheckStatus.FAILED, str(error))
    detail = (
        f"{encoder.name}, {encoder.dim} dimensions, at most {encoder.max_tokens} tokens, "
        f"revision {encoder.revision[:12]}"
    )
    return Check("encoder", CheckStatus.OK, detail)


def _check_index(index: str) -> Iterator[Check]:
    store = _check_store(index)
    yield store
    if is_on_s3(index) and store.status is CheckStatus.OK:
        yield _check_old_versions(S3ObjectStore(index))


def _check_old_versions(store: S3ObjectStore) -> Check:
    try:
        is_kept = store.keeps_old_versions()
    except StorageError as error:
        detail = f"cannot be told whether the bucket keeps old versions of objects: {error}"
        return Check("old versions", CheckStatus.WARNING, detail)
    if not is_kept:
        return Check("old versions", CheckStatus.OK, "the bucket keeps none")
    detail = (
        f"the bucket of {store.url} keeps old versions of objects: a purged document stays in "
        "them; delete old versions by a lifecycle rule"
    )
    return Check("old versions", CheckStatus.WARNING, detail)


def _check_store(index: str) -> Check:
    try:
        # A prefix of a bucket need not exist; to probe a folder that does not would make it.
        store = open_store(index) if is_on_s3(index) else open_existing(index)
        honoured = honours_conditions(store)
    except ScpRayError as error:
        return Check("store", CheckStatus.FAILED, str(error))
    if not honoured:
        detail = f"{store.url} ignores conditions on writes; two runs could overwrite each other"
        return Check("store", CheckStatus.FAILED, detail)
    return Check("store", CheckStatus.OK, f"{store.url} takes writes and honours conditions")


def honours_conditions(store: ObjectStore) -> bool:
    """Try conditional writes on a probe object, which is removed again.

    Raises:
        StorageError: If the store takes no writes at all.
    """
    key = f"probe-{uuid.uuid4().hex}"
    try:
        first = store.compare_and_swap(key, b"first", expected=None)
        second = store.compare_and_swap(key, b"second", expected=first)
        return all(_refuses(store, key, expected) for expected in (None, first)) and (
            store.read_versioned(key) == (b"second", second)
        )
    finally:
        store.delete(key)


def _refuses(store: ObjectStore, key: str, expected: str | None) -> bool:
    try:
        store.compare_and_swap(key, b"lost", expected=expected)
    except PreconditionFailedError:
        return True
    return False


def check_ray_port(host: str, port: int, name: str) -> Check:
    """Say whether a Ray port is open, and, for the dashboard, whether it asks for a token."""
    title = f"ray port {port} ({name})"
    with socket.socket() as probe:
        probe.settimeout(_TIMEOUT_S)
        if probe.connect_ex((host, port)) != 0:
            return Check(title, CheckStatus.OK, "closed")
    if port != _DASHBOARD_PORT:
        detail = f"open; whether it asks for a token cannot be told from outside: {_ADVICE}"
        return Check(title, CheckStatus.WARNING, detail)
    return Check(title, *_dashboard_state(f"http://{host}:{port}/api/jobs/"))


def _dashboard_state(url: str) -> tuple[CheckStatus, str]:
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S):  # noqa: S310 - http, as built above
            pass
    except urllib.error.HTTPError as error:
        if error.code in _UNAUTHORIZED:
            return CheckStatus.OK, "open, asks for a token"
    except (OSError, http.client.HTTPException):
        return CheckStatus.WARNING, f"open, but does not answer as a dashboard: {_ADVICE}"
    return (
        CheckStatus.FAILED,
        f"open without a token: whoever reaches it can run any code; {_ADVICE}",
    )
