"""Create a RayJob, follow it to its end, and exit with the code of its command.

The container of `cronjob.yaml` runs this. `concurrencyPolicy: Forbid` looks at the Job of
Kubernetes alone, so that Job must last as long as the run. It may be started again at any time: a
RayJob of that name which is there already is followed. Needs the standard library and PyYAML.
"""

import argparse
import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

_ENDED = {"Complete", "Failed", "ValidationFailed"}
_EXIT_CODE = re.compile(r"failed with exit code (\d+)")  # as Ray words it in the job's message
_DONE, _FAILED = 0, 1
_CREATED_ALREADY, _NOT_FOUND, _SERVER_ERRORS = 409, 404, 500
_TIMEOUT_S = 30.0
_SAID_CHARACTERS = 2000


class RayJobs:
    """The RayJobs of this pod's namespace.

    Args:
        api: Address of the Kubernetes API.
        account: Folder of the pod's service account; its token is read anew for each request,
            since Kubernetes exchanges it.
    """

    def __init__(self, api: str, account: Path) -> None:
        namespace = (account / "namespace").read_text().strip()
        self._url = f"{api}/apis/ray.io/v1/namespaces/{namespace}/rayjobs"
        self._account = account
        is_encrypted = api.startswith("https:")
        authority = str(account / "ca.crt")
        self._context = ssl.create_default_context(cafile=authority) if is_encrypted else None

    def create(self, manifest: dict[str, Any]) -> None:
        """Create the RayJob unless there is one of this name."""
        try:
            self._ask(self._url, json.dumps(manifest).encode())
        except urllib.error.HTTPError as error:
            if error.code != _CREATED_ALREADY:
                raise

    def status(self, name: str) -> dict[str, Any] | None:
        """Return the status, or None where the API could not say."""
        try:
            status: dict[str, Any] = self._ask(f"{self._url}/{name}").get("status", {})
        except urllib.error.HTTPError as error:
            if error.code < _SERVER_ERRORS:
                raise
            return None
        except OSError:
            return None
        return status

    def _ask(self, url: str, body: bytes | None = None) -> dict[str, Any]:
        token = (self._account / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(url, body, headers)  # noqa: S310 - the cluster's own API
        with urllib.request.urlopen(  # noqa: S310
            request, timeout=_TIMEOUT_S, context=self._context
        ) as reply:
            value: dict[str, Any] = json.load(reply)
            return value


def main(argv: Sequence[str] | None = None) -> int:
    """Run one RayJob and return the exit code of its command."""
    parser = argparse.ArgumentParser(
        description="Create a RayJob, follow it to its end, and exit with the code of its command."
    )
    parser.add_argument("manifest", type=Path, help="the RayJob as YAML")
    parser.add_argument("--name", required=True, help="name of the RayJob, and of its Job")
    parser.add_argument("--uid", required=True, help="UID of the Job; deleted with it")
    parser.add_argument("--api", default="https://kubernetes.default.svc")
    parser.add_argument(
        "--account", type=Path, default=Path("/var/run/secrets/kubernetes.io/serviceaccount")
    )
    parser.add_argument("--poll-s", type=float, default=10.0)
    args = parser.parse_args(argv)
    jobs = RayJobs(args.api, args.account)
    try:
        jobs.create(_owned(yaml.safe_load(args.manifest.read_text()), args.name, args.uid))
        while True:
            status = jobs.status(args.name)
            if status is not None and status.get("jobDeploymentStatus") in _ENDED:
                return _exit_code(args.name, status)
            time.sleep(args.poll_s)
    except urllib.error.HTTPError as error:
        gone = f"RayJob {args.name} was deleted" if error.code == _NOT_FOUND else str(error)
        _tell(f"{gone}: {error.read().decode(errors='replace')[:_SAID_CHARACTERS]}")
        return _FAILED


def _owned(manifest: dict[str, Any], name: str, uid: str) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid}
    metadata = {**manifest["metadata"], "name": name, "ownerReferences": [owner]}
    return {**manifest, "metadata": metadata}


def _exit_code(name: str, status: dict[str, Any]) -> int:
    message = str(status.get("message", ""))
    _tell(f"RayJob {name}: {status.get('jobStatus')}: {message[-_SAID_CHARACTERS:]}")
    if status.get("jobStatus") == "SUCCEEDED":
        return _DONE
    found = _EXIT_CODE.search(message)
    return int(found.group(1)) if found else _FAILED


def _tell(text: str) -> None:
    sys.stderr.write(f"follow_rayjob: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
