"""Every answer that is not success has its error, which says what to do."""

import pytest
from botocore import exceptions
from botocore.parsers import ResponseParserError

from scp_ray.errors import (
    ObjectNotFoundError,
    PreconditionFailedError,
    StorageError,
    TransientStorageError,
)
from scp_ray.storage.s3_errors import ConflictError, ExpiredCredentialsError, typed_errors


def _answer(status: int, code: str) -> exceptions.ClientError:
    response = {
        "Error": {"Code": code, "Message": "as the server puts it"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return exceptions.ClientError(response, "PutObject")


@pytest.mark.parametrize(
    ("status", "code", "expected", "message"),
    [
        (404, "NoSuchKey", ObjectNotFoundError, "no object at s3://bucket/key"),
        (404, "404", ObjectNotFoundError, "no object at s3://bucket/key"),
        (404, "NoSuchBucket", StorageError, "s3://bucket/key: no such bucket; create it"),
        (412, "PreconditionFailed", PreconditionFailedError, "key: changed by somebody else"),
        (409, "ConditionalRequestConflict", ConflictError, "409 .*try again later"),
        (403, "AccessDenied", StorageError, "403 AccessDenied .*as the .*check the credentials"),
        (400, "ExpiredToken", ExpiredCredentialsError, "ExpiredToken .*renew the credentials"),
        (401, "Unauthorized", StorageError, "401 Unauthorized .*check the credentials"),
        (301, "PermanentRedirect", StorageError, "301 PermanentRedirect"),
        (501, "NotImplemented", StorageError, "501 NotImplemented"),
        (400, "RequestTimeout", TransientStorageError, "400 RequestTimeout .*try again later"),
        (404, "NoSuchUpload", TransientStorageError, "404 NoSuchUpload .*try again later"),
        (429, "TooManyRequests", TransientStorageError, "429 .*try again later"),
        (500, "InternalError", TransientStorageError, "500 .*try again later"),
        (503, "SlowDown", TransientStorageError, "503 .*try again later"),
    ],
)
def test_answers(status: int, code: str, expected: type[StorageError], message: str) -> None:
    with (
        pytest.raises(StorageError, match=message) as raised,
        typed_errors("s3://bucket/key"),
    ):
        raise _answer(status, code)
    assert type(raised.value) is expected


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (exceptions.NoCredentialsError(), StorageError, "no credentials .*by environment"),
        (
            exceptions.CredentialRetrievalError(provider="role", error_msg="gone"),
            StorageError,
            "no credentials .*gone",
        ),
        (
            exceptions.EndpointConnectionError(endpoint_url="http://nowhere"),
            TransientStorageError,
            "not answered .*nowhere.*check the endpoint",
        ),
        (
            exceptions.ReadTimeoutError(endpoint_url="http://slow"),
            TransientStorageError,
            "not answered .*slow",
        ),
        (exceptions.ProfileNotFound(profile="mine"), StorageError, "profile .*mine"),
        (ResponseParserError("no XML"), StorageError, "no XML"),
    ],
)
def test_faults_without_an_answer(
    error: Exception, expected: type[StorageError], message: str
) -> None:
    with pytest.raises(StorageError, match=message) as raised, typed_errors("s3://bucket/key"):
        raise error
    assert type(raised.value) is expected
    assert str(raised.value).startswith("s3://bucket/key: ")


def test_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError, match="zero"), typed_errors("s3://bucket/key"):
        _ = 1 / 0
