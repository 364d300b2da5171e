"""What annotation has to ask a language model for some texts, worked out from the texts alone."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from benchmarks.scripted_llm_server import answer
from scp_ray.annotators.llm_modules import decision_questions, extraction_key
from scp_ray.chop.prompting import all_go_on
from scp_ray.config import Settings
from scp_ray.corpus.chunker import chunk_spans
from scp_ray.embedding.factory import load_tokenizer


class Chunker:
    """Cuts texts as a run does.

    Args:
        settings: Settings of the run.
        max_tokens: Of its encoder.
    """

    def __init__(self, settings: Settings, max_tokens: int) -> None:
        self._config = settings.chunking
        self._max_tokens = max_tokens
        self._tokenizer = load_tokenizer(settings.embedding)

    def chunks(self, text: str) -> list[str]:
        """Return the texts of the chunks, in order."""
        spans = chunk_spans(text, self._tokenizer, self._config, self._max_tokens)
        return [text[span.char_start : span.char_end] for span in spans]


def annotation_keys(documents: Mapping[str, list[str]]) -> set[bytes]:
    """Return the distinct keys of all decisions and extractions for the chunks of documents."""
    return {key for chunks in documents.values() for key in _keys(chunks)}


def _keys(chunks: list[str]) -> Iterator[bytes]:
    yield extraction_key(chunks[0])
    for chunk, next_chunk in pairwise(chunks):
        questions = decision_questions(chunk, next_chunk)
        yield from questions
        if not all_go_on(answer(one.content, is_decision=True) for one in questions.values()):
            yield extraction_key(next_chunk)
