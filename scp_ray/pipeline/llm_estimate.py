"""What a language model would be asked for some documents, and what of it was paid for before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scp_ray.annotators.heuristic import HeuristicAnnotator
from scp_ray.annotators.llm_modules import decision_questions, extraction_key, name_question
from scp_ray.chop.prompting import extraction_request
from scp_ray.protocols import AnnotationCache, GenerationRequest

_CHARACTERS_PER_TOKEN = 4  # of English text, in the tokenizers of most models
_DECISION_TOKENS, _CNM_TOKENS = 1, 40  # of an answer


@dataclass(frozen=True, slots=True)
class LlmCost:
    """Requests to a language model.

    Attributes:
        calls: Requests.
        prompt_tokens: Their tokens, instructions included, from their characters.
        output_tokens: Tokens of the answers, from their usual length.
        cached: Answers that were paid for before, not counted in the others.
    """

    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached: int = 0

    def scaled(self, factor: float) -> "LlmCost":
        """Return the cost of so many times the documents."""
        return LlmCost(
            round(self.calls * factor),
            round(self.prompt_tokens * factor),
            round(self.output_tokens * factor),
            round(self.cached * factor),
        )


def llm_cost(documents: Iterable[Sequence[str]], cache: AnnotationCache) -> LlmCost:
    """Count the requests for the chunks of documents; each distinct one once.

    Where spans begin, and what they name, is known only when the model has answered; those of the
    heuristic annotator stand in for them.
    """
    heuristic = HeuristicAnnotator(document_fallback=False)
    requests: dict[bytes, GenerationRequest] = {}
    for chunks in documents:
        for pair in pairwise(chunks):
            requests |= decision_questions(*pair)
        for chunk, annotation in zip(chunks, heuristic.annotate(chunks), strict=True):
            if annotation.starts_span:
                requests[extraction_key(chunk)] = extraction_request(chunk)
                requests |= [name_question(annotation.cnm.model)] if annotation.cnm.model else []
    asked = [request for key, request in requests.items() if cache.get(key) is None]
    characters = sum(len(request.instructions) + len(request.content) for request in asked)
    return LlmCost(
        calls=len(asked),
        prompt_tokens=characters // _CHARACTERS_PER_TOKEN,
        output_tokens=sum(
            _DECISION_TOKENS if request.choices else _CNM_TOKENS for request in asked
        ),
        cached=len(requests) - len(asked),
    )
