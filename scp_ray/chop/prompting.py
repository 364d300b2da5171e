"""What CHOP's two modules ask a language model, and how its answers are read.

The instructions are the versioned files of ``prompts/``; they come first and are the same bytes in
every request of a kind, so that an engine's prefix cache holds them. A passage is quoted between
tags that its own text cannot close, a title is one line; neither can hold the marks by which
models tell the turns of a chat apart, such as ``<|im_end|>`` or ``[/INST]``, which a tokenizer
would take for real ones. Nothing of the fold's state is ever shown: that is what makes the order
of the requests free.

Source: CHOP, CNM-Extractor and Continuity Decision Module. The wording is our choice; the paper
does not print its prompts.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from scp_ray.chop.overlap import shared_characters
from scp_ray.chop.parsing import MAX_FIELD_CHARACTERS, MAX_NOUNS
from scp_ray.chop.title_lines import titles_of
from scp_ray.errors import AnnotationError
from scp_ray.protocols import GenerationRequest

MAX_PASSAGE_CHARACTERS = 6000
"""Longer passages are shown without their middle, so that a request always fits."""

CONTINUES, CHANGES = "TRUE", "FALSE"
"""Answers to a continuity request."""

_PRODUCT = "product"
TITLE_CLASSES = ("feature", _PRODUCT, "app", "section", "company")
"""Answers to a title request; a product's name ends what went before."""

_OTHER_CLASSES = tuple(one for one in TITLE_CLASSES if one != _PRODUCT)
_GOES_ON = {CONTINUES: True, CHANGES: False, _PRODUCT: False} | dict.fromkeys(_OTHER_CLASSES, True)
_CONTINUITY_FILE, _TITLE_FILE = "continuity.1.txt", "title.1.txt"
_EXTRACTION_FILE = "extraction.1.txt"
_CUT = "\n[...]\n"
_CHAT_MARKS = re.compile(r"<(?!\s*[\d=])|\[(?=/?[A-Z_]+\]|\|)")  # not: < 5 mm
_HARMLESS = {"<": "‹", "[": "("}
_DECISION_TOKENS = 4  # one where the engine holds to the choices
_CNM_TOKENS = 160

_FIELD: dict[str, Any] = {"type": ["string", "null"], "maxLength": MAX_FIELD_CHARACTERS}
CNM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "category": _FIELD,
        "nouns": {
            "type": "array",
            "items": {"type": "string", "maxLength": MAX_FIELD_CHARACTERS},
            "maxItems": MAX_NOUNS,
        },
        "model": _FIELD,
    },
    "required": ["category", "nouns", "model"],
    "additionalProperties": False,
}
"""JSON schema of a CNM, as ``parsing.parse_cnm`` reads it."""


@cache
def prompt_revision() -> str:
    """Name the prompts; changes with the instructions, the frame of a passage and the schema.

    How a passage is quoted and shortened, which of its lines are titles and what is made of the
    answers is not seen in it: raise the number with that.
    """
    asked = [continuity_request("a", "b"), title_request("a"), extraction_request("a")]
    frames = json.dumps([asdict(request) for request in asked], sort_keys=True)
    return f"prompts-2-{hashlib.sha256(frames.encode()).hexdigest()[:12]}"


def decision_requests(chunk: str, next_chunk: str) -> list[GenerationRequest]:
    """Ask whether ``next_chunk`` goes on with the product of ``chunk``; see ``all_go_on``.

    Each line of ``next_chunk`` that may be a title, and that ``chunk`` does not show, is asked
    about by itself. Where neither has any such line the pair is. In a text with titles a chunk
    that brings none goes on, and nothing is asked.
    """
    titles = titles_of(chunk, next_chunk, shared_characters(chunk, next_chunk))
    if titles.new or titles.has_known:
        return [title_request(title) for title in titles.new]
    return [continuity_request(chunk, next_chunk)]


def title_request(title: str) -> GenerationRequest:
    """Ask what a line that may be a title names.

    A small model that is shown whole passages does not tell a product's name from the name of a
    function; one that is shown a line and a few examples does (``docs/chop.md``). A line costs a
    fraction of a pair, and documents that are alike share their lines.
    """
    instructions = _instructions(_TITLE_FILE)
    content = f"{_harmless(title)} ->"
    return GenerationRequest(instructions, content, _DECISION_TOKENS, choices=TITLE_CLASSES)


def continuity_request(chunk: str, next_chunk: str) -> GenerationRequest:
    """Ask about a pair of passages; what both hold is shown once."""
    shared = shared_characters(chunk, next_chunk)
    parts = [
        quoted("first", chunk[: len(chunk) - shared]),
        quoted("shared", next_chunk[:shared]) if shared else "",
        quoted("second", next_chunk[shared:]),
        "Answer:",
    ]
    return GenerationRequest(
        _instructions(_CONTINUITY_FILE),
        "\n".join(part for part in parts if part),
        _DECISION_TOKENS,
        choices=(CONTINUES, CHANGES),
    )


def extraction_request(chunk: str) -> GenerationRequest:
    """Ask for the CNM of a chunk."""
    content = f"{quoted('passage', chunk)}\nAnswer:"
    instructions = _instructions(_EXTRACTION_FILE)
    return GenerationRequest(instructions, content, _CNM_TOKENS, json_schema=CNM_SCHEMA)


def may_be_product(text: str) -> bool:
    """Read the answer to a title request about the model of a signature.

    Raises:
        AnnotationError: As ``parse_decision``.
    """
    parse_decision(text)
    return _word(text) not in _OTHER_CLASSES


def parse_decision(text: str) -> bool:
    """Read the answer to a continuity request or a title request: whether the subject goes on.

    Raises:
        AnnotationError: If it is none of the words that are asked for, in any case, with white
            space or a full stop around.
    """
    word = _word(text)
    if word not in _GOES_ON:
        message = f"a continuity decision is one of {', '.join(_GOES_ON)}, got {text[:60]!a}"
        raise AnnotationError(message)
    return _GOES_ON[word]


def _word(text: str) -> str:
    word = text.strip().rstrip(".")
    return word.lower() if word.lower() in TITLE_CLASSES else word.upper()


def all_go_on(answers: Iterable[str]) -> bool:
    """Return the decision that usable answers to the requests of one pair come to."""
    return all(map(parse_decision, answers))


def quoted(tag: str, text: str) -> str:
    """Quote a text; what could close the quotation, or a turn of the model's chat, is no mark."""
    return f"<{tag}>{_harmless(_shortened(text))}</{tag}>"


def _harmless(text: str) -> str:
    return _CHAT_MARKS.sub(lambda mark: _HARMLESS[mark[0]], text)


@cache
def _instructions(name: str) -> str:
    return files("scp_ray.chop").joinpath("prompts", name).read_text(encoding="utf-8")


def _shortened(text: str) -> str:
    if len(text) <= MAX_PASSAGE_CHARACTERS:
        return text
    half = (MAX_PASSAGE_CHARACTERS - len(_CUT)) // 2
    return f"{text[:half]}{_CUT}{text[-half:]}"
