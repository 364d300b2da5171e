"""Which problem an error is answered with."""

import json
import logging

import pytest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from scp_ray.errors import (
    ConfigError,
    EncoderError,
    NotReadyError,
    OverloadedError,
    ShardUnavailableError,
    TransientStorageError,
)
from scp_ray.serve.problems import problem_of, problem_response


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (ConfigError("top_k is 0"), 422, "top_k is 0"),
        (OverloadedError("full"), 429, "full"),
        (NotReadyError("loading"), 503, "loading"),
        (ShardUnavailableError("group-1: late"), 503, "group-1: late"),
        (TransientStorageError("slow down"), 503, "slow down"),
        (HTTPException(415, "not JSON"), 415, "not JSON"),
        (HTTPException(404), 404, "Not Found"),
        (HTTPException(418, "tea"), 418, "tea"),
        (EncoderError("/secret/path is missing"), 500, "the log of the service has the reason"),
        (ZeroDivisionError("secret"), 500, "the log of the service has the reason"),
    ],
)
def test_error_has_its_status(error: Exception, status: int, detail: str) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.detail, problem.type) == (status, detail, "about:blank")
    assert problem.title


def test_unforeseen_error_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        problem = problem_of(KeyError("the secret"))
    assert "the secret" not in problem.model_dump_json()
    assert "the secret" in caplog.text


def test_answer_is_a_problem_that_says_when_to_ask_again() -> None:
    for error in (OverloadedError("full"), NotReadyError("loading")):
        response = problem_response(error)
        assert response.headers["retry-after"] == "1"
        assert response.headers["content-type"] == "application/problem+json"
        assert json.loads(response.body)["status"] == response.status_code
    refused = problem_response(HTTPException(405, headers={"Allow": "GET"}))
    assert refused.headers["allow"] == "GET"
    assert "retry-after" not in refused.headers


def test_form_is_told_by_place_without_the_value() -> None:
    errors = [{"loc": ("body", "top_k"), "msg": "too small", "input": "SECRET"}]
    problem = problem_of(RequestValidationError(errors))
    assert (problem.status, problem.detail) == (422, "body.top_k: too small")


def test_long_and_odd_details_are_cut_and_written() -> None:
    many = [{"loc": ("body", number), "msg": "no number"} for number in range(500)]
    assert problem_of(RequestValidationError(many)).detail.endswith("; and 490 more")
    assert len(problem_of(ConfigError("x" * 10**6)).detail) < 2100
    odd = problem_response(ConfigError("a lone \ud800 surrogate"))
    assert json.loads(odd.body)["detail"] == "a lone \\ud800 surrogate"
