"""What a language model is asked: for an answer, and whether passages support a sentence of it.

The instructions are the versioned files of ``prompts/``; they come first and are the same bytes in
every request. Passages follow, best first, so that what is asked of few of them begins as what is
asked of more, and an engine's prefix cache holds it. All text is quoted as in ``chop.prompting``,
so that none of it can close its quotation or a turn of the chat.

Source: CHOP, Table 2, asks for answers too, and does not print its prompt. All wording is ours.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Final

from scp_ray.chop.prompting import quoted
from scp_ray.errors import AnnotationError
from scp_ray.protocols import GenerationRequest

NOT_STATED: Final = "The passages do not say."
"""What a model is told to answer where the passages do not hold the answer."""

SUPPORTED, UNSUPPORTED = "YES", "NO"

_ANSWER_FILE: Final = "answer.1.txt"
_SUPPORT_FILE: Final = "support.1.txt"
_ANSWER_TASK: Final = "Answer the question from the passages, in one to four whole sentences."
_SUPPORT_QUESTION: Final = "Do the passages support the statement?"
_ANSWER_TOKENS: Final = 256
_SUPPORT_TOKENS: Final = 4  # one where the engine holds to the choices
_KEY_BYTES: Final = 16
_MAX_SHOWN_CHARACTERS: Final = 60
_FIRST_WORD: Final = re.compile(r"\W*([A-Za-z]+)")


@cache
def generation_revision() -> str:
    """Name the prompts; changes with the instructions, the frame of the passages and the sizes."""
    asked = [answer_request("q", ["a", "b"]), support_request("s", ["a", "b"])]
    frames = json.dumps([asdict(request) for request in asked], sort_keys=True)
    return f"generation-1-{hashlib.sha256(frames.encode()).hexdigest()[:12]}"


def answer_request(question: str, passages: Sequence[str]) -> GenerationRequest:
    """Ask for an answer to a question from passages, best first."""
    content = f"{_shown(passages)}{quoted('question', question)}\n{_ANSWER_TASK}"
    return GenerationRequest(_instructions(_ANSWER_FILE), content, _ANSWER_TOKENS)


def support_request(sentence: str, passages: Sequence[str]) -> GenerationRequest:
    """Ask whether passages support a sentence."""
    content = f"{_shown(passages)}{quoted('statement', sentence)}\n{_SUPPORT_QUESTION}"
    return GenerationRequest(
        _instructions(_SUPPORT_FILE), content, _SUPPORT_TOKENS, choices=(SUPPORTED, UNSUPPORTED)
    )


def request_key(request: GenerationRequest) -> bytes:
    """Return the cache key of a request, 16 bytes."""
    shown = [request.instructions, request.content, request.max_tokens, request.choices]
    return hashlib.sha256(json.dumps(shown).encode()).digest()[:_KEY_BYTES]


def parse_answer(text: str) -> str:
    """Read an answer: any text, white space around it left out.

    Raises:
        AnnotationError: If there is nothing else.
    """
    if not text.strip():
        message = "the answer is empty"
        raise AnnotationError(message)
    return text.strip()


def parse_support(text: str) -> bool:
    """Read whether a sentence is supported: the first word counts, in any case.

    Raises:
        AnnotationError: If it is another word than the two.
    """
    word = _FIRST_WORD.match(text)
    if word is None or word[1].upper() not in {SUPPORTED, UNSUPPORTED}:
        message = f"expected {SUPPORTED} or {UNSUPPORTED}, got {text[:_MAX_SHOWN_CHARACTERS]!a}"
        raise AnnotationError(message)
    return word[1].upper() == SUPPORTED


def is_not_stated(answer: str) -> bool:
    """Whether an answer says that the passages do not hold it, in the words that were asked for."""
    return " ".join(answer.split()).rstrip(".").casefold() == NOT_STATED.rstrip(".").casefold()


def _shown(passages: Sequence[str]) -> str:
    return "".join(f"{quoted('passage', passage)}\n" for passage in passages)


@cache
def _instructions(name: str) -> str:
    folder = files("scp_ray.evaluation.generation").joinpath("prompts")
    return folder.joinpath(name).read_text(encoding="utf-8")
