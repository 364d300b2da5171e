"""Answers of the scripted language model, and the server that gives them."""

import json
from urllib.request import Request, urlopen

from benchmarks.scripted_llm_server import answer, completion, scripted_llm_server
from scp_ray.annotators.openai_server import read_reply, request_body
from scp_ray.chop.parsing import parse_cnm
from scp_ray.chop.prompting import continuity_request, extraction_request, parse_decision

TEXTS = [f"Press the switch of pump {number}." for number in range(200)]


def test_answers_can_be_used_and_differ() -> None:
    decisions = [parse_decision(answer(text, is_decision=True)) for text in TEXTS]
    assert 0.6 < sum(decisions) / len(decisions) < 0.9
    assert len({parse_cnm(answer(text, is_decision=False)).model for text in TEXTS}) > 100
    assert decisions == [parse_decision(answer(text, is_decision=True)) for text in TEXTS]


def test_each_kind_of_request_gets_its_answer() -> None:
    for request in (continuity_request(*TEXTS[:2]), extraction_request(TEXTS[0])):
        body = request_body(request, "any", structured_choice=False)
        reply = read_reply(json.dumps(completion(body)).encode())
        is_decision = bool(request.choices)
        assert reply.text == answer(request.content, is_decision=is_decision)
        assert reply.prompt_tokens > len(request.instructions.split())


def test_server_counts_what_it_answers() -> None:
    body = request_body(extraction_request(TEXTS[0]), "any", structured_choice=False)
    with scripted_llm_server() as server:
        for number in range(3):
            assert server.num_calls() == number
            request = Request(f"{server.url}/chat/completions", json.dumps(body).encode())  # noqa: S310
            with urlopen(request, timeout=20) as reply:  # noqa: S310
                assert parse_cnm(read_reply(reply.read()).text).category == "kettle"
