"""What is asked of an OpenAI-compatible server, and how its replies are read."""

import json
from typing import Any

import pytest

from scp_ray.annotators.openai_server import OpenAiGenerator, read_reply, request_body
from scp_ray.chop.prompting import CNM_SCHEMA, continuity_request, extraction_request
from scp_ray.errors import ConfigError
from scp_ray.protocols import Generation
from scp_ray.sections import LlmConfig, OpenAiConfig

DECISION = continuity_request("The pump runs.", "It stops.")


def reply(content: Any, usage: Any = None) -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def test_a_request_is_greedy_and_begins_with_its_instructions() -> None:
    body = request_body(DECISION, "m", structured_choice=False)
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": DECISION.instructions},
            {"role": "user", "content": DECISION.content},
        ],
        "max_tokens": DECISION.max_tokens,
        "temperature": 0,
    }


def test_choices_are_asked_for_where_the_server_knows_how() -> None:
    body = request_body(DECISION, "m", structured_choice=True)
    assert body["structured_outputs"] == {"choice": ["TRUE", "FALSE"]}


def test_a_schema_is_sent_as_it_is() -> None:
    body = request_body(extraction_request("The pump runs."), "m", structured_choice=True)
    assert body["response_format"]["json_schema"]["schema"] == CNM_SCHEMA
    assert "structured_outputs" not in body
    assert json.loads(json.dumps(body)) == body


def test_an_answer_comes_with_its_tokens() -> None:
    usage = {
        "prompt_tokens": 700,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 640},
    }
    assert read_reply(reply("TRUE", usage)) == Generation("TRUE", 700, 640, 3)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens_details": None}])
def test_servers_may_leave_tokens_uncounted(usage: Any) -> None:
    assert read_reply(reply("TRUE", usage)) == Generation("TRUE")


def test_a_reply_without_text_is_an_empty_answer() -> None:
    assert read_reply(reply(None)).text == ""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html>Bad gateway</html>",
        b"null",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"error": {"message": "overloaded"}}',
        b'{"choices": [{"message": {"content": "TR',
        reply("TRUE")[:-4],
        reply({"text": "TRUE"}),
        reply("TRUE", "many"),
        b'{"choices": [{"message": {"content": "\xff"}}]}',
        b'{"choices": [{"message": {"content": "\\ud800"}}]}',
    ],
)
def test_anything_else_is_no_reply(data: bytes) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_reply(data)


@pytest.mark.parametrize("key", ["sk secret", "sk-secret\n", "sk-sécret", "sk\x00secret"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    server = OpenAiConfig(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ConfigError, match=r"openai\.api_key_file") as refused:
        OpenAiGenerator(LlmConfig(model="m"), server, key, 1)
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["host:8000/v1", "ftp://host/v1", "http://user:word@host/v1", "http://", "http:// x/v1"]
)
def test_an_address_is_one_of_http_without_a_password(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        OpenAiConfig(base_url=url)


@pytest.mark.parametrize("count", ["null", "-5", "4611686018427387904"])
def test_token_counts_that_cannot_be_count_as_none(count: str) -> None:
    reply = '{"choices": [{"message": {"content": "TRUE"}}], "usage": {"prompt_tokens": %s}}'
    assert read_reply((reply % count).encode()) == Generation("TRUE")
