"""A language model that is asked about documents through the product's own annotator."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.chunked_texts import ChunkedText
from benchmarks.figures import rounded, say
from scp_ray.annotators.factory import annotation_fingerprint, make_annotator
from scp_ray.annotators.llm_modules import decision_questions, extraction_key
from scp_ray.chop.parsing import parse_cnm
from scp_ray.chop.prompting import all_go_on
from scp_ray.config import Settings
from scp_ray.protocols import AnnotationCache, Annotator
from scp_ray.records import NO_USAGE, AnnotationUsage, Cnm
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.storage.opening import open_store

_BATCH_PAIRS = 32


@dataclass(slots=True)
class AskedModel:
    """A model and what asking it took.

    Attributes:
        annotator: Its annotator, without fallback to the document's signature; None where only
            what it answered before counts.
        cache: Where its answers are kept.
        usage: What this process asked.
        seconds: How long that took.
    """

    annotator: Annotator | None
    cache: AnnotationCache
    usage: AnnotationUsage = NO_USAGE
    seconds: float = 0.0

    def decisions(self, text: ChunkedText, indexes: Sequence[int]) -> dict[int, bool]:
        """Return the decision of pairs of neighbouring chunks, by the index of the first."""
        chunks = text.chunks
        if self.annotator is None:
            pairs = {index: self._decided(*chunks[index : index + 2]) for index in indexes}
            return {index: decided for index, decided in pairs.items() if decided is not None}
        for first in range(0, len(indexes), _BATCH_PAIRS):
            batch = indexes[first : first + _BATCH_PAIRS]
            started = time.perf_counter()
            usage = self.annotator.ask_ahead([chunks[index : index + 2] for index in batch])
            self._count(usage, started)
            done = first + len(batch)
            say(f"  {text.doc_id}: {done} of {len(indexes)} pairs, {self.seconds:.0f} s")
        return {
            index: self._decided(chunks[index], chunks[index + 1]) is not False  # None: no answer
            for index in indexes
        }

    def signatures(self, text: ChunkedText) -> tuple[list[bool], dict[int, Cnm]]:
        """Return every decision of a document, and the CNM of each span by its first chunk."""
        if self.annotator is None:
            message = "a whole document needs the model"
            raise ValueError(message)
        self.decisions(text, range(len(text.spans) - 1))
        started = time.perf_counter()
        [document] = self.annotator.annotate([text.chunks])
        self._count(document.usage, started)
        rows = list(enumerate(document.annotations))
        decisions = [not row.starts_span for _, row in rows[1:]]
        return decisions, {index: row.cnm for index, row in rows if row.starts_span}

    def first_signatures(self, text: ChunkedText, starts: Sequence[int]) -> dict[int, Cnm]:
        """Return what the model answered for chunks that start a span, by their index."""
        chunks = text.chunks
        answers = {start: self.cache.get(extraction_key(chunks[start])) for start in starts}
        return {start: parse_cnm(answer) for start, answer in answers.items() if answer}

    def _decided(self, chunk: str, next_chunk: str) -> bool | None:
        """Return what the answers say; None where one is missing that could say otherwise."""
        answers = [self.cache.get(key) for key in decision_questions(chunk, next_chunk)]
        known = [answer for answer in answers if answer is not None]
        if not all_go_on(known):
            return False
        return True if len(known) == len(answers) else None

    def _count(self, usage: AnnotationUsage, started: float) -> None:
        self.usage += usage
        self.seconds += time.perf_counter() - started


@contextmanager
def asked_model(
    settings: Settings, answers: Path, *, is_started: bool = True
) -> Iterator[AskedModel]:
    """Start the model of the settings, or not, with the answers that a folder has of it."""
    cache = StoredAnnotationCache(open_store(str(answers)), annotation_fingerprint(settings))
    if not is_started:
        yield AskedModel(None, cache)
        return
    annotator = make_annotator(settings, lambda _fingerprint: cache)
    try:
        yield AskedModel(annotator, cache)
    finally:
        annotator.close()
        cache.flush()


def costs(usage: AnnotationUsage, seconds: float) -> dict[str, Any]:
    """Return what asking took as figures, with the shares that say how well it went."""
    counts = asdict(usage)
    for asked_again in ("decisions", "extractions", "cache_hits"):
        del counts[asked_again]
    calls = max(usage.llm_calls, 1)
    return {
        **counts,
        "seconds": rounded(seconds),
        "fallback_share": rounded(usage.fallbacks / calls),
        "retry_share": rounded(usage.retries / calls),
        "cached_prompt_share": rounded(usage.cached_prompt_tokens / max(usage.prompt_tokens, 1)),
    }


def with_earlier(
    file: Path, usage: AnnotationUsage, seconds: float
) -> tuple[AnnotationUsage, float]:
    """Add what a run took to what earlier ones took, kept in a file, and return the sum."""
    rows = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    for row in map(json.loads, rows):
        usage, seconds = usage + AnnotationUsage(**row["usage"]), seconds + row["seconds"]
    file.write_text(
        json.dumps({"usage": asdict(usage), "seconds": seconds}) + "\n", encoding="utf-8"
    )
    return usage, seconds
