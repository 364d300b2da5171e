"""What CHOP's two modules ask a language model, and how its answers are read.

The instructions are the versioned files of ``prompts/``; they come first and are the same bytes in
every request, so that an engine's prefix cache holds them. A passage is quoted between tags that
its own text cannot close; nor can it hold the marks by which models tell the turns of a chat
apart, such as ``<|im_end|>`` or ``[/INST]``, which a tokenizer would take for real ones. Nothing
of the fold's state is ever shown: that is what makes the order of the requests free.

Source: CHOP, CNM-Extractor and Continuity Decision Module. The wording is our choice; the paper
does not print its prompts.
"""

import hashlib
import json
import re
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from scp_ray.chop.overlap import shared_characters
from scp_ray.chop.parsing import MAX_FIELD_CHARACTERS, MAX_NOUNS
from scp_ray.errors import AnnotationError
from scp_ray.protocols import GenerationRequest

MAX_PASSAGE_CHARACTERS = 6000
"""Longer passages are shown without their middle, so that a request always fits."""

CONTINUES, CHANGES = "TRUE", "FALSE"

_CONTINUITY_FILE, _EXTRACTION_FILE = "continuity.1.txt", "extraction.1.txt"
_CUT = "\n[...]\n"
_MARKS = re.compile(r"<(?!\s*[\d=])|\[(?=/?[A-Z_]+\]|\|)")  # not: < 5 mm
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

    How a passage is quoted and shortened is not seen in it: raise the number with that.
    """
    asked = [continuity_request("a", "b"), extraction_request("a")]
    frames = json.dumps([asdict(request) for request in asked], sort_keys=True)
    return f"prompts-1-{hashlib.sha256(frames.encode()).hexdigest()[:12]}"


def continuity_request(chunk: str, next_chunk: str) -> GenerationRequest:
    """Ask whether ``next_chunk`` goes on with the product of ``chunk``; what both hold is once."""
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


def parse_decision(text: str) -> bool:
    """Read the answer to a continuity request.

    Raises:
        AnnotationError: If it is not one of the two words, in any case, with white space or a
            full stop around.
    """
    word = text.strip().rstrip(".").upper()
    if word not in {CONTINUES, CHANGES}:
        message = f"a continuity decision is {CONTINUES} or {CHANGES}, got {text[:60]!a}"
        raise AnnotationError(message)
    return word == CONTINUES


def quoted(tag: str, text: str) -> str:
    """Quote a text; what could close the quotation, or a turn of the model's chat, is no mark."""
    harmless = _MARKS.sub(lambda mark: _HARMLESS[mark[0]], _shortened(text))
    return f"<{tag}>{harmless}</{tag}>"


@cache
def _instructions(name: str) -> str:
    return files("scp_ray.chop").joinpath("prompts", name).read_text(encoding="utf-8")


def _shortened(text: str) -> str:
    if len(text) <= MAX_PASSAGE_CHARACTERS:
        return text
    half = (MAX_PASSAGE_CHARACTERS - len(_CUT)) // 2
    return f"{text[:half]}{_CUT}{text[-half:]}"
