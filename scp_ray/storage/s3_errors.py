"""What an S3 server or the AWS SDK says, as the errors of this package."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scp_ray.errors import (
    ObjectNotFoundError,
    PreconditionFailedError,
    StorageError,
    TransientStorageError,
)

_NOT_FOUND, _CONFLICT, _PRECONDITION_FAILED = 404, 409, 412
_FORBIDDEN = {401, 403}
_EXPIRED_CODES = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"}
_TRANSIENT = {429, 500, 502, 503, 504}
_TRANSIENT_CODES = {"RequestTimeout", "SlowDown", "NoSuchUpload"}


class ConflictError(TransientStorageError):
    """Two conditional writes met; which of them won is not known yet."""


class ExpiredCredentialsError(StorageError):
    """The credentials were valid once; newer ones may be there by now."""


@contextmanager
def typed_errors(where: str) -> Iterator[None]:
    """Turn what the SDK raises into errors of this package.

    Args:
        where: The address that was called, for the message.

    Raises:
        StorageError: What went wrong, where and what to do; of the subclass that fits.
    """
    from botocore import exceptions
    from botocore.parsers import ResponseParserError

    no_credentials = (
        exceptions.NoCredentialsError,
        exceptions.PartialCredentialsError,
        exceptions.CredentialRetrievalError,
        exceptions.TokenRetrievalError,
    )
    try:
        yield
    except exceptions.ClientError as error:
        raise _refusal(where, error.response) from error
    except no_credentials as error:
        message = (
            f"{where}: no credentials ({error}); give them by environment, profile or the role "
            "of the machine"
        )
        raise StorageError(message) from error
    except (exceptions.HTTPClientError, exceptions.ConnectionError) as error:
        message = f"{where}: not answered ({error}); check the endpoint"
        raise TransientStorageError(message) from error
    except (exceptions.BotoCoreError, ResponseParserError) as error:
        message = f"{where}: {error}"
        raise StorageError(message) from error


def _refusal(where: str, response: Mapping[str, Any]) -> StorageError:
    """Return the error of an answer that is not success."""
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = str(response["Error"].get("Code"))
    state = _about_state(where, status, code)
    if state is not None:
        return state
    kind, advice = StorageError, "check the address and the settings of the bucket"
    if status in _TRANSIENT or code in _TRANSIENT_CODES:
        kind, advice = TransientStorageError, "try again later"
    elif status == _CONFLICT:
        kind, advice = ConflictError, "try again later"
    elif code in _EXPIRED_CODES:
        kind, advice = ExpiredCredentialsError, "renew the credentials"
    elif status in _FORBIDDEN:
        advice = "check the credentials and what they may do"
    said = response["Error"].get("Message", "")
    return kind(f"{where}: the store answered {status} {code} ({said}); {advice}")


def _about_state(where: str, status: int | None, code: str) -> StorageError | None:
    """Return the error of an answer about what is there, None if it is another."""
    if code == "NoSuchBucket":
        return StorageError(f"{where}: no such bucket; create it, or correct the address")
    if status == _NOT_FOUND and code not in _TRANSIENT_CODES:
        return ObjectNotFoundError(f"no object at {where}")
    if status == _PRECONDITION_FAILED:
        return PreconditionFailedError(changed_message(where))
    return None


def changed_message(where: str) -> str:
    """Say that a conditional write was refused."""
    return f"{where}: changed by somebody else since it was read; run it again"
