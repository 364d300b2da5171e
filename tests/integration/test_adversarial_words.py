"""Questions and documents that are hard on words: each is answered, within the time of a test."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from scp_ray.config import Settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus
from scp_ray.serve.models import QueryReply, QueryRequest
from scp_ray.serve.searcher import LocalSearcher

MEGABYTE = 2**20
EVERYWHERE = "everywhere"
UNKNOWN = "quixotic"


def _open(corpus: Path, settings: Settings) -> tuple[RunReport, LocalSearcher]:
    index = str(corpus.parent / "index")
    report = index_corpus(
        IndexRequest(str(corpus), index, settings), InProcessExecutor(), lambda _line: None
    )
    return report, LocalSearcher.open(index, settings)


@pytest.fixture(scope="module")
def odd(
    tmp_path_factory: pytest.TempPathFactory,
    write_manual: Callable[..., Path],
    small_settings: Callable[..., Settings],
) -> tuple[RunReport, LocalSearcher]:
    """Manuals, one document of one word again and again, and one that is a single word."""
    corpus = tmp_path_factory.mktemp("odd") / "corpus"
    corpus.mkdir()
    for number in range(4):
        write_manual(corpus, number)
    (corpus / "repeated.txt").write_text("bell " * (MEGABYTE // len("bell ")))
    (corpus / "unspaced.txt").write_text("x" * MEGABYTE)
    (corpus / "stopped.txt").write_text("The lid of the box is on the table, and the rest is not.")
    return _open(corpus, small_settings())


@pytest.fixture(scope="module")
def searcher(odd: tuple[RunReport, LocalSearcher]) -> LocalSearcher:
    return odd[1]


def _answer(searcher: LocalSearcher, question: str, **more: object) -> QueryReply:
    """Ask with everything that a reply can hold, and check what every reply must be."""
    request = QueryRequest.model_validate(
        {"query": question, "top_k": 10, "max_context_tokens": 500, "explain": True, **more}
    )
    reply = searcher.answer(request)
    assert len(reply.results) == 10
    assert not reply.exhausted
    scores = [result.score for result in reply.results]
    assert scores == sorted(scores, reverse=True)
    for result in reply.results:
        assert math.isfinite(result.score)
        assert 0.0 <= result.lexical_score <= 1.0
    assert reply.context is not None
    assert reply.context.tokens <= 500
    assert (reply.lexical.weight > 0.0) == (reply.lexical.known_terms > 0)
    return reply


def test_no_document_is_refused(odd: tuple[RunReport, LocalSearcher]) -> None:
    report, searcher = odd
    assert not report.quarantined
    assert searcher.manifest.num_documents == 7


def test_ten_thousand_words(searcher: LocalSearcher) -> None:
    words = ["pump", "valve", "orbis", *(f"unheard{number}" for number in range(9_997))]
    random.Random(0).shuffle(words)
    reply = _answer(searcher, " ".join(words))
    assert (reply.lexical.known_terms, reply.lexical.unknown_terms) == (3, 9_997)
    (degraded,) = reply.degraded
    assert degraded.group == "question"
    assert "first 256 tokens of 10000" in degraded.reason
    assert any(result.lexical_score > 0.0 for result in reply.results)


def test_one_word_ten_thousand_times_is_that_word(searcher: LocalSearcher) -> None:
    often = _answer(searcher, "pump " * 10_000)
    once = _answer(searcher, "pump")
    assert often.lexical == once.lexical
    assert [r.lexical_score for r in often.results] == [r.lexical_score for r in once.results]


def test_one_stop_word(searcher: LocalSearcher) -> None:
    reply = _answer(searcher, "the", lexical_weight=0.5)
    assert (reply.lexical.known_terms, reply.lexical.unknown_terms) == (1, 0)
    assert reply.results[0].doc_id == "stopped.txt"
    assert not reply.degraded


@pytest.mark.parametrize("question", ["🙂", "👩‍🚒🏽❤️🇨🇭 🎉🎉", "?! -- ...", "\u0301\u200d"])
def test_no_words_at_all(searcher: LocalSearcher, question: str) -> None:
    reply = _answer(searcher, question)
    assert (reply.lexical.known_terms, reply.lexical.unknown_terms) == (0, 0)
    assert all(result.lexical_score == 0.0 for result in reply.results)
    assert all(result.score <= 1.0 + 1e-6 for result in reply.results)


def test_only_unknown_words_are_counted_and_leave_the_vectors(searcher: LocalSearcher) -> None:
    reply = _answer(searcher, UNKNOWN)
    assert (reply.lexical.known_terms, reply.lexical.unknown_terms) == (0, 1)


@pytest.mark.parametrize("word", ["y" * MEGABYTE, "東" * MEGABYTE, "a-" * (MEGABYTE // 2)])
def test_one_word_of_a_megabyte(searcher: LocalSearcher, word: str) -> None:
    reply = _answer(searcher, word)
    assert reply.lexical.known_terms == 0
    assert reply.lexical.unknown_terms >= 1


def test_the_document_that_is_one_word_is_found_by_its_beginning(searcher: LocalSearcher) -> None:
    for question in ("x" * MEGABYTE, "x" * 64):
        reply = _answer(searcher, question, lexical_weight=1.0)
        assert reply.lexical.known_terms == 1
        assert reply.results[0].doc_id == "unspaced.txt"


def test_a_document_of_one_word_is_found_by_it(searcher: LocalSearcher) -> None:
    reply = _answer(searcher, "bell", min_index_gap=1)
    assert reply.lexical.known_terms == 1
    assert {result.doc_id for result in reply.results} == {"repeated.txt"}
    everything = {"top_k": 1000, "min_index_gap": 1, "lexical_weight": 1.0}
    request = QueryRequest.model_validate({"query": "bell", **everything})
    deep = searcher.answer(request)
    assert len(deep.results) == 1000
    assert {result.doc_id for result in deep.results} == {"repeated.txt"}


def test_a_word_of_every_chunk(
    tmp_path: Path, corpus: Path, small_settings: Callable[..., Settings]
) -> None:
    for path in corpus.iterdir():
        path.write_text(" ".join(f"{word} {EVERYWHERE}" for word in path.read_text().split()))
    _, searcher = _open(corpus, small_settings())
    everything = {"query": EVERYWHERE, "top_k": 1000, "min_index_gap": 1}
    reply = searcher.answer(QueryRequest.model_validate(everything))
    assert len(reply.results) == searcher.manifest.num_chunks
    assert all(0.0 < result.lexical_score < 1.0 for result in reply.results)
    assert _answer(searcher, EVERYWHERE).lexical.known_terms == 1
    assert _answer(searcher, f"{EVERYWHERE} pump").lexical.known_terms == 2
