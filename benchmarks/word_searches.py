"""Our lexical index and bm25s over the same terms: build, search and size, by turns."""

import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import bm25s  # type: ignore[import-untyped]
import numpy as np

from benchmarks.figures import rounded, say, spread
from scp_ray.index.lexical import LexicalIndex, read_postings, write_postings
from scp_ray.index.postings import Postings, invert
from scp_ray.index.term_statistics import TermStatistics, sum_term_statistics
from scp_ray.protocols import Float64Array
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import LexicalQuery
from scp_ray.retrieval.candidates import lexical_candidates
from scp_ray.retrieval.terms import terms_of
from scp_ray.sections import LexicalConfig

NUM_WANTED = 10
_SAME_SCORE = 1e-5


class _Built(NamedTuple):
    """Both indexes, and the seconds that each took."""

    postings: Postings
    theirs: bm25s.BM25
    ours_s: float
    theirs_s: float


class WordSearches:
    """Both indexes over one set of texts, built by turns, ours mapped from its files.

    Args:
        texts: Texts of the chunks.
        stemmer: What terms are made with.
        config: Gives ``k1`` and ``b`` to both.
        folder: An empty folder for the files of both.
        num_builds: Builds of each; the last ones are searched.
    """

    def __init__(
        self,
        texts: Sequence[str],
        stemmer: Stemmer,
        config: LexicalConfig,
        folder: Path,
        num_builds: int,
    ) -> None:
        started = time.perf_counter()
        chunks = [terms_of(text, stemmer) for text in texts]
        tokenization_s = time.perf_counter() - started
        builds = [
            _build(chunks, config, ours_first=number % 2 == 0) for number in range(num_builds)
        ]
        ours, theirs = folder / "ours", folder / "bm25s"
        ours.mkdir()
        write_postings(builds[-1].postings, ours)
        self._theirs = builds[-1].theirs
        self._theirs.save(theirs, show_progress=False)
        postings = read_postings(ours)
        self._ours = LexicalIndex(postings)
        terms = sum_term_statistics([postings.terms])
        self._with_pairs = TermStatistics(terms, config, stemmer)
        words_alone = config.model_copy(update={"pair_weight": 0.0})
        self._statistics = TermStatistics(terms, words_alone, stemmer)
        self.figures: dict[str, Any] = {
            "num_chunks": len(chunks),
            "num_terms": postings.terms.table.num_rows,
            "mean_length": rounded(sum(map(len, chunks)) / len(chunks)),
            "tokenization_s": rounded(tokenization_s),
            "build": {
                "ours_s": spread([build.ours_s for build in builds]),
                "bm25s_s": spread([build.theirs_s for build in builds]),
                "ratio": spread([build.ours_s / build.theirs_s for build in builds]),
            },
            "size": _sizes(ours, theirs, sum(len(text.encode()) for text in texts)),
        }

    def measure(self, questions: Sequence[str], num_rounds: int) -> dict[str, Any]:
        """Ask every question once a round, and once before; who goes first changes."""
        asked = [words for question in questions if (words := self._statistics.weigh(question)).idf]
        rounds = [self._round(asked, number) for number in range(num_rounds + 1)][1:]
        for number, times in enumerate(rounds, 1):
            ours, theirs = statistics.median(times["ours"]), statistics.median(times["bm25s"])
            say(f"round {number}: {ours:.3f} ms, bm25s {theirs:.3f} ms, {ours / theirs:.3f}")
        ratios = [statistics.median(t["ours"]) / statistics.median(t["bm25s"]) for t in rounds]
        times = {name: [ms for one in rounds for ms in one[name]] for name in rounds[0]}
        return {
            **self.figures,
            "num_queries": len(asked) * num_rounds,
            "mean_question_terms": rounded(sum(len(words.idf) for words in asked) / len(asked)),
            "ratio": spread(ratios),
            "ours_ms": _percentiles(times["ours"]),
            "bm25s_ms": _percentiles(times["bm25s"]),
            "step_ms": {
                "scores": _percentiles(times["scores"]),
                "candidates": _percentiles(times["candidates"]),
            },
            "with_pairs_ms": _percentiles(self._ask_with_pairs(questions)),
            "weigh_ms": _percentiles(self._weigh(questions)),
        }

    def _round(self, asked: Sequence[LexicalQuery], number: int) -> dict[str, list[float]]:
        names = ("ours", "bm25s", "scores", "candidates")
        times: dict[str, list[float]] = {name: [] for name in names}
        for place, words in enumerate(asked):
            sides = [partial(self._ask_ours, words, times), partial(self._ask_bm25s, words, times)]
            ours_first = (place + number) % 2 == 0
            found = [side() for side in (sides if ours_first else reversed(sides))]
            ours, theirs = found if ours_first else reversed(found)
            factor = (words.k1 + 1.0) / words.bound
            if not np.allclose(ours, theirs * factor, rtol=_SAME_SCORE, atol=_SAME_SCORE):
                message = f"other scores for {list(words.idf)}: {ours} and {theirs * factor}"
                raise ValueError(message)
        return times

    def _ask_with_pairs(self, questions: Sequence[str]) -> list[float]:
        times: dict[str, list[float]] = {"ours": [], "scores": [], "candidates": []}
        for question in questions:
            if (words := self._with_pairs.weigh(question)).weights:
                self._ask_ours(words, times)
        return times["ours"]

    def _ask_ours(self, words: LexicalQuery, times: dict[str, list[float]]) -> Float64Array:
        started = time.perf_counter()
        scores = self._ours.scores(words)
        scored = time.perf_counter()
        rows = lexical_candidates(scores, NUM_WANTED, None).rows
        ended = time.perf_counter()
        times["scores"].append(1000.0 * (scored - started))
        times["candidates"].append(1000.0 * (ended - scored))
        times["ours"].append(1000.0 * (ended - started))
        return scores[rows]

    def _ask_bm25s(self, words: LexicalQuery, times: dict[str, list[float]]) -> Float64Array:
        started = time.perf_counter()
        _, scores = self._theirs.retrieve(
            [list(words.idf)], k=NUM_WANTED, show_progress=False, backend_selection="numpy"
        )
        times["bm25s"].append(1000.0 * (time.perf_counter() - started))
        return np.asarray(scores[0], dtype=np.float64)

    def _weigh(self, questions: Sequence[str]) -> list[float]:
        times = []
        for question in questions:
            started = time.perf_counter()
            self._statistics.weigh(question)
            times.append(1000.0 * (time.perf_counter() - started))
        return times


def _build(chunks: list[list[str]], config: LexicalConfig, *, ours_first: bool) -> _Built:
    if ours_first:
        (postings, ours_s), (theirs, theirs_s) = _ours(chunks), _bm25s(chunks, config)
    else:
        (theirs, theirs_s), (postings, ours_s) = _bm25s(chunks, config), _ours(chunks)
    say(f"build: {ours_s:.2f} s, bm25s {theirs_s:.2f} s")
    return _Built(postings, theirs, ours_s, theirs_s)


def _ours(chunks: list[list[str]]) -> tuple[Postings, float]:
    started = time.perf_counter()
    postings = invert(chunks)
    return postings, time.perf_counter() - started


def _bm25s(chunks: list[list[str]], config: LexicalConfig) -> tuple[bm25s.BM25, float]:
    started = time.perf_counter()
    index = bm25s.BM25(
        k1=config.k1, b=config.b, method="lucene", backend="numpy", csc_backend="scipy"
    )
    index.index(chunks, show_progress=False)
    return index, time.perf_counter() - started


def _sizes(ours: Path, theirs: Path, text_bytes: int) -> dict[str, float]:
    ours_bytes, theirs_bytes = _folder_bytes(ours), _folder_bytes(theirs)
    return {
        "text_bytes": text_bytes,
        "ours_bytes": ours_bytes,
        "bm25s_bytes": theirs_bytes,
        "ours_to_text": rounded(ours_bytes / text_bytes),
        "bm25s_to_text": rounded(theirs_bytes / text_bytes),
    }


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(values, [50, 95]).tolist()
    return {"p50": rounded(p50), "p95": rounded(p95)}
