"""Does what a real engine answers depend on what else it works on at that moment?

Documents are annotated several times at temperature 0, each time by a fresh engine that keeps no
answer: without lookahead (one request in work, two where a span begins), with it, all documents
together, and those once more. The fold is the same for all (the property tests prove that), so
whatever differs comes from numbers that depend on the batch. Writes
``results/bench_agreement.json``.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.chunked_texts import read_chunked
from benchmarks.environment import capture
from benchmarks.figures import Result, rounded, say
from scp_ray.annotators.llm import LlmAnnotator
from scp_ray.annotators.vllm_engine import VllmGenerator
from scp_ray.chop.prompting import TITLE_CLASSES
from scp_ray.config import Settings, load_settings
from scp_ray.protocols import Generation, GenerationRequest, TextGenerator
from scp_ray.records import AnnotatedDocument, ChunkAnnotation
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.testing import MemoryObjectStore

_ASSIGNMENTS = (
    "chop.annotator=vllm",
    "vllm.enforce_eager=true",
    "vllm.max_model_len=4096",
    "vllm.max_num_seqs=32",
    "llm.timeout_s=3600",
)


class Question(NamedTuple):
    """What was asked: its kind, and what it was about."""

    kind: str
    content: str


class _Way(NamedTuple):
    """How documents are annotated."""

    name: str
    lookahead: int
    is_together: bool


_WAYS = (
    _Way("one_at_a_time", 1, is_together=False),
    _Way("lookahead", 16, is_together=False),
    _Way("together", 16, is_together=True),
    _Way("together_again", 16, is_together=True),
)


@dataclass(slots=True)
class RecordingGenerator:
    """Passes requests on and keeps the answers.

    Attributes:
        generator: The model.
        answers: Last answer to each question.
    """

    generator: TextGenerator
    answers: dict[Question, str] = field(default_factory=dict)

    async def generate(self, request: GenerationRequest) -> Generation:
        """Ask the model."""
        answer = await self.generator.generate(request)
        self.answers[Question(_kind(request), request.content)] = answer.text
        return answer

    async def close(self) -> None:
        """End the model."""
        await self.generator.close()


@dataclass(frozen=True, slots=True)
class Annotated:
    """What came of one way.

    Attributes:
        answers: By question.
        chunks: Annotations of all documents, one after the other.
    """

    answers: dict[Question, str]
    chunks: list[ChunkAnnotation]


def main() -> None:
    """Annotate in every way, compare with the first, and write the figures."""
    args = _parser().parse_args()
    settings = load_settings(None, [*_ASSIGNMENTS, f"llm.model={args.model}", *args.set])
    environment = capture(settings, args.corpus)
    names = sorted(path.name for path in args.corpus.iterdir())[: args.documents]
    read = read_chunked(args.corpus, names, settings.embedding, settings.chunking)
    texts = [text.chunks[: args.chunks] for text in read]
    say(f"{len(texts)} documents, {sum(map(len, texts))} chunks")
    results: dict[str, Annotated] = {}
    for way in _WAYS:
        results[way.name] = _annotated(way, texts, settings)
        say(f"{way.name}: {len(results[way.name].answers)} answers")
    first = results[_WAYS[0].name]
    figures = {
        "documents": len(texts),
        "chunks": len(first.chunks),
        **{name: compare(first, one) for name, one in results.items()},
    }
    tree = {**settings.model_dump(mode="json", include={"chunking": True, "vllm": True})}
    tree["model"] = args.model.name
    path = Result(environment, tree, figures).write("bench_agreement")
    say(f"wrote {path.name}")


def _annotated(way: _Way, texts: Sequence[Sequence[str]], settings: Settings) -> Annotated:
    recorders: list[RecordingGenerator] = []

    def made() -> TextGenerator:
        recorders.append(RecordingGenerator(VllmGenerator(settings.llm, settings.vllm)))
        return recorders[0]

    annotator = LlmAnnotator(
        made,
        StoredAnnotationCache(MemoryObjectStore(), "nothing"),
        lookahead=way.lookahead,
        document_fallback=settings.chop.document_fallback,
        max_calls=None,
    )
    try:
        batches = [texts] if way.is_together else [[text] for text in texts]
        documents = [one for batch in batches for one in annotator.annotate(batch)]
    finally:
        annotator.close()
    chunks = [row for document in documents for row in _rows(document)]
    return Annotated(recorders[0].answers, chunks)


def _rows(document: AnnotatedDocument) -> list[ChunkAnnotation]:
    if document.failure:
        raise SystemExit(document.failure)
    return document.annotations


def compare(first: Annotated, other: Annotated) -> dict[str, Any]:
    """Return how many answers to the same questions differ, by kind, and how many chunks."""
    shared = first.answers.keys() & other.answers.keys()
    compared = Counter(asked.kind for asked in shared)
    different = Counter(
        asked.kind for asked in shared if first.answers[asked] != other.answers[asked]
    )
    pairs = list(zip(first.chunks, other.chunks, strict=True))
    return {
        "questions": len(other.answers),
        "questions_compared": dict(sorted(compared.items())),
        "answers_different": {kind: different[kind] for kind in sorted(compared)},
        "share_different": rounded(different.total() / max(compared.total(), 1)),
        "chunks_with_another_cnm": sum(one.cnm != two.cnm for one, two in pairs),
        "decisions_different": sum(one.starts_span != two.starts_span for one, two in pairs),
    }


def _kind(request: GenerationRequest) -> str:
    if not request.choices:
        return "extraction"
    return "title" if set(request.choices) == set(TITLE_CLASSES) else "pair"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="folder of documents")
    parser.add_argument("--model", type=Path, required=True, help="folder of a language model")
    parser.add_argument("--documents", type=int, default=10, help="documents to annotate")
    parser.add_argument("--chunks", type=int, default=30, help="first chunks of each")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return parser


if __name__ == "__main__":
    main()
