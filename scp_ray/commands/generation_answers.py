"""Questions with what an index finds for them, and what a language model answers."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from scp_ray.annotators.factory import make_generator, served_model
from scp_ray.annotators.llm_modules import Answers, CallLimit, flushed_regularly
from scp_ray.commands.terminal import tell
from scp_ray.config import Settings
from scp_ray.errors import CallLimitError, GenerationError
from scp_ray.evaluation.generation.answering import (
    Answered,
    FoundPassage,
    FoundQuestion,
    answer_all,
)
from scp_ray.evaluation.generation.prompting import generation_revision
from scp_ray.evaluation.queries import Query
from scp_ray.protocols import AnnotationCache
from scp_ray.serve.measuring import ask_all
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.storage.local import LocalObjectStore

_FLUSH_S: Final = 2.0  # what a crash may lose of answers
_PROGRESS_EVERY: Final = 10


def find_passages(
    searcher: LocalSearcher, queries: Sequence[Query], num_passages: int
) -> list[FoundQuestion]:
    """Ask an index every question for so many results.

    Raises:
        ConfigError: If a question cannot be asked of this index.
    """
    return [
        FoundQuestion(
            query.query_id,
            query.query,
            tuple(FoundPassage(one.doc_id, one.chunk_index, one.text) for one in reply.results),
        )
        for query, reply in ask_all(searcher, queries, tell, top_k=num_passages)
    ]


def answer_questions(
    folder: Path, questions: Sequence[FoundQuestion], sizes: Sequence[int], settings: Settings
) -> list[Answered]:
    """Have the language model of the settings answer questions, each from its first passages.

    Args:
        folder: Keeps what the model answers; what is there already is not asked again.
        questions: At least one.
        sizes: Numbers of passages, ascending.
        settings: Name the model.

    Returns:
        As ``answer_all``.

    Raises:
        ConfigError: If the model cannot be had as the settings say.
        GenerationError: If it does not start, or answers no question at all.
        CallLimitError: If the calls that the settings allow are used up.
    """
    name = f"{generation_revision()} {served_model(settings)}"
    fingerprint = hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    cache = StoredAnnotationCache(LocalObjectStore(folder), fingerprint)
    counts: Counter[str] = Counter()
    try:
        answered = asyncio.run(_ask(questions, sizes, settings, cache, counts))
    except CallLimitError as error:
        message = (
            f"the {settings.llm.max_calls} calls of llm.max_calls are used up; what was answered "
            "is kept, and a run with more goes on from there"
        )
        raise CallLimitError(message) from error
    finally:
        cache.flush()
    tell(
        f"{counts['llm_calls']} calls of the model, {counts['cache_hits']} answers known before; "
        f"{counts['prompt_tokens']} tokens asked, {counts['output_tokens']} answered"
    )
    if all(one.answer is None for one in answered):
        message = f"no question was answered: {answered[0].failure}"
        raise GenerationError(message)
    return answered


async def _ask(
    questions: Sequence[FoundQuestion],
    sizes: Sequence[int],
    settings: Settings,
    cache: AnnotationCache,
    counts: Counter[str],
) -> list[Answered]:
    generator = make_generator(settings)
    answers = Answers(generator, cache, CallLimit(settings.llm.max_calls))
    try:
        async with flushed_regularly(cache, _FLUSH_S):
            return await answer_all(answers, questions, sizes, counts, _progress(len(questions)))
    finally:
        await generator.close()


def _progress(num_questions: int) -> Callable[[int], None]:
    def tell_some(num_done: int) -> None:
        if num_done % _PROGRESS_EVERY == 0 or num_done == num_questions:
            tell(f"answered {num_done}/{num_questions} questions")

    return tell_some
