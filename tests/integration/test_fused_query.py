"""Words, context and rerank of a query over a published index."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from scp_ray.config import Settings
from scp_ray.embedding.factory import load_encoder, load_named_tokenizer
from scp_ray.errors import ChecksumError, EncoderError
from scp_ray.index.shard_files import read_chunks
from scp_ray.pipeline.report import RunReport
from scp_ray.records import ContextRule, Stemmer
from scp_ray.retrieval.pairs import pairs_of
from scp_ray.retrieval.terms import terms_of
from scp_ray.serve.group_client import GroupClient
from scp_ray.serve.models import QueryReply, QueryRequest
from scp_ray.serve.query_encoding import Encoded, encode_each, load_query_encoder
from scp_ray.serve.question_reader import QuestionReader
from scp_ray.serve.reranking import load_reranker
from scp_ray.serve.router import Reading, Router
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.publish import load_current

Run = Callable[..., RunReport]
MakeSettings = Callable[..., Settings]
QUESTION = "Rinse the blade of the K-104?"


@pytest.fixture
def index(run: Run, tmp_path: Path) -> Path:
    run()
    return tmp_path / "index"


@pytest.fixture
def searcher(index: Path, small_settings: MakeSettings) -> LocalSearcher:
    return LocalSearcher.open(str(index), small_settings())


def with_pairs(words: list[str]) -> list[str]:
    return [*words, *(pair for _, _, pair in pairs_of(words))]


def chunk_words(index: Path) -> dict[tuple[str, int], list[str]]:
    found = {}
    for shard in load_current(LocalObjectStore(index)).shards:
        for row in read_chunks(index / str(shard.folder)).to_pylist():
            text = f"{row['prefix']}\n{row['text']}"
            found[row["doc_id"], row["chunk_index"]] = terms_of(text, Stemmer.LIGHT)
    return found


def test_lexical_scores_are_bm25_with_the_statistics_of_all_shards(
    index: Path, searcher: LocalSearcher
) -> None:
    request = QueryRequest(query=QUESTION, top_k=30, explain=True, exact=True, position_weight=0.0)
    reply = searcher.answer(request)
    chunks = chunk_words(index)
    frequency = Counter(term for words in chunks.values() for term in set(with_pairs(words)))
    num_chunks, length = len(chunks), sum(map(len, chunks.values()))
    asked = with_pairs(terms_of(QUESTION, Stemmer.LIGHT))
    known = [term for term in dict.fromkeys(asked) if frequency[term]]
    assert "k104" in known
    assert any(term.startswith(" ") for term in known)
    idf = {
        term: math.log(1 + (num_chunks - frequency[term] + 0.5) / (frequency[term] + 0.5))
        for term in known
    }
    bound = 1.9 * sum(idf.values())
    assert len({result.shard_id for result in reply.results}) == 3
    for result in reply.results:
        words = chunks[result.doc_id, result.chunk_index]
        terms = with_pairs(words)
        norm = 0.9 * (0.25 + 0.75 * len(words) / (length / num_chunks))
        bm25 = sum(
            idf[term] * terms.count(term) * 1.9 / (terms.count(term) + norm) for term in known
        )
        assert result.lexical_score == pytest.approx(bm25 / bound, abs=1e-12)
        weight = reply.lexical.weight
        expected = (1 - weight) * result.semantic_score + weight * result.lexical_score
        assert result.score == pytest.approx(expected, abs=1e-12)
    words = set(terms_of(QUESTION, Stemmer.LIGHT))
    num_known = len(words & set(known))
    assert reply.lexical.known_terms == num_known < len(words)
    assert reply.lexical.weight == pytest.approx(0.7 * num_known / len(words), abs=1e-12)
    assert reply.audit is not None
    assert any(candidate.lexical_score > 0.0 for candidate in reply.audit.second_pass)


def test_a_model_name_finds_its_manual(searcher: LocalSearcher) -> None:
    for name in ("K-104", "k104", "Orbis K–104"):
        reply = searcher.answer(QueryRequest(query=name, lexical_weight=1.0, top_k=3))
        assert {result.doc_id for result in reply.results} == {"manual_004.md"}


def test_without_known_words_vectors_decide_and_the_reply_says_so(searcher: LocalSearcher) -> None:
    fused, vectors = (
        searcher.answer(QueryRequest(query="Xylophon zwölf", exact=True, lexical_weight=weight))
        for weight in (0.5, 0.0)
    )
    assert [hit.score for hit in fused.results] == [hit.score for hit in vectors.results]
    assert fused.lexical.weight == 0.0
    assert (fused.lexical.known_terms, fused.lexical.unknown_terms) == (0, 2)


def test_an_embedding_has_no_words(searcher: LocalSearcher) -> None:
    reply = searcher.answer(QueryRequest(embedding=[1.0] * 32))
    assert (reply.lexical.weight, reply.lexical.known_terms) == (0.0, 0)
    assert all(result.lexical_score == 0.0 for result in reply.results)


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_the_number_of_shards_changes_no_exact_answer(
    run: Run, tmp_path: Path, small_settings: MakeSettings, weight: float
) -> None:
    request = QueryRequest(query=QUESTION, exact=True, lexical_weight=weight, top_k=20)
    answers = []
    for num_shards in (1, 2, 7):
        run(f"index.num_shards={num_shards}", index=f"index-{num_shards}")
        searcher = LocalSearcher.open(str(tmp_path / f"index-{num_shards}"), small_settings())
        answers.append([hit.model_copy(update={"shard_id": 0}) for hit in asked(searcher, request)])
    assert answers[0] == answers[1] == answers[2]


def asked(searcher: LocalSearcher, request: QueryRequest) -> list[object]:
    return list(searcher.answer(request).results)


def test_k1_and_b_change_without_a_new_index(index: Path, small_settings: MakeSettings) -> None:
    request = QueryRequest(query=QUESTION, top_k=5, exact=True)
    plain, flat = (
        LocalSearcher.open(str(index), small_settings(*changes)).answer(request)
        for changes in ((), ("lexical.b=0", "lexical.k1=0.2"))
    )
    assert [hit.lexical_score for hit in plain.results] != [
        hit.lexical_score for hit in flat.results
    ]


def test_the_indexs_stemmer_reads_the_question(
    run: Run, tmp_path: Path, small_settings: MakeSettings
) -> None:
    run("index.stemmer=none", index="unstemmed")
    searcher = LocalSearcher.open(str(tmp_path / "unstemmed"), small_settings())
    assert searcher.answer(QueryRequest(query="filters")).lexical.known_terms == 0
    assert searcher.answer(QueryRequest(query="filter")).lexical.known_terms == 1


def test_another_stemmer_rebuilds_the_shards_and_embeds_nothing(run: Run) -> None:
    run()
    report = run("index.stemmer=none")
    assert report.chunks["embedded"] == 0
    assert report.shards == {"built": 3, "reused": 0}
    assert report.published


def test_damaged_term_statistics_are_refused(index: Path, small_settings: MakeSettings) -> None:
    (path,) = index.glob("generations/*/terms.arrow")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ChecksumError, match="terms.arrow"):
        LocalSearcher.open(str(index), small_settings())


@pytest.mark.parametrize("damage", ["missing", "flipped"])
def test_a_run_writes_lost_term_statistics_again(
    run: Run, index: Path, small_settings: MakeSettings, damage: str
) -> None:
    (path,) = index.glob("generations/*/terms.arrow")
    whole = path.read_bytes()
    path.unlink()
    if damage == "flipped":
        path.write_bytes(whole[:-1] + b"x")
    assert not run().published
    assert path.read_bytes() == whole
    LocalSearcher.open(str(index), small_settings()).answer(QueryRequest(query=QUESTION))


def test_a_long_question_is_answered_and_the_cut_is_told(searcher: LocalSearcher) -> None:
    reply = searcher.answer(QueryRequest(query="rinse the blade " * 500))
    assert reply.results
    (note,) = reply.degraded
    assert note.group == "question"
    assert "of 1500" in note.reason
    assert reply.lexical.known_terms == 2


def test_a_context_fits_its_budget_and_cites_its_chunks(
    index: Path, corpus: Path, small_settings: MakeSettings
) -> None:
    settings = small_settings("context.candidates=100")
    searcher = LocalSearcher.open(str(index), settings)
    count = load_encoder(settings.embedding).tokenizer.count_tokens
    for budget in (70, 3000):
        reply = searcher.answer(QueryRequest(query=QUESTION, max_context_tokens=budget))
        assert reply.context is not None
        assert reply.context.rule is ContextRule.MERGE
        texts = [passage.text for passage in reply.context.passages]
        assert sum(count(texts)) == reply.context.tokens <= budget
        assert reply.context.passages[0].chunk_indexes
        for passage in reply.context.passages:
            text = (corpus / passage.doc_id).read_text()
            assert text[passage.char_start : passage.char_end] == passage.text
    assert any(len(passage.chunk_indexes) > 1 for passage in reply.context.passages)


def test_the_gap_rule_makes_the_context_of_the_results(searcher: LocalSearcher) -> None:
    reply = searcher.answer(
        QueryRequest(query=QUESTION, max_context_tokens=10_000, context_rule=ContextRule.GAP)
    )
    assert reply.context is not None
    cited = {
        (passage.doc_id, chunk)
        for passage in reply.context.passages
        for chunk in passage.chunk_indexes
    }
    assert cited == {(result.doc_id, result.chunk_index) for result in reply.results}
    assert reply.context.skipped == []


def test_another_tokenizer_counts_the_context(
    index: Path, small_settings: MakeSettings, tiny_cross_encoder: Path
) -> None:
    settings = small_settings(f"context.tokenizer={tiny_cross_encoder}")
    reply = LocalSearcher.open(str(index), settings).answer(
        QueryRequest(query=QUESTION, max_context_tokens=900)
    )
    assert reply.context is not None
    texts = [passage.text for passage in reply.context.passages]
    assert sum(load_named_tokenizer(str(tiny_cross_encoder)).count_tokens(texts)) <= 900
    assert reply.context.tokens > sum(
        load_encoder(settings.embedding).tokenizer.count_tokens(texts)
    )
    for wrong in (index, "~nobody-here/model"):
        with pytest.raises(EncoderError, match="cannot load the tokenizer"):
            LocalSearcher.open(str(index), small_settings(f"context.tokenizer={wrong}"))


def test_no_budget_no_context(searcher: LocalSearcher) -> None:
    assert searcher.answer(QueryRequest(query=QUESTION)).context is None


@pytest.fixture
def reranked(index: Path, small_settings: MakeSettings, tiny_cross_encoder: Path) -> LocalSearcher:
    settings = small_settings(f"rerank.model={tiny_cross_encoder}", "rerank.candidates=8")
    return LocalSearcher.open(str(index), settings)


def test_the_cross_encoders_score_replaces_the_order(
    reranked: LocalSearcher, searcher: LocalSearcher
) -> None:
    request = QueryRequest(query=QUESTION, top_k=6, min_index_gap=1, explain=True)
    before, after = (
        searcher.answer(request.model_copy(update={"top_k": 8})),
        reranked.answer(request),
    )
    scores = [result.rerank_score for result in after.results]
    assert all(score is not None for score in scores)
    assert scores == sorted(scores, key=lambda score: -(score or 0.0))
    head = {(hit.doc_id, hit.chunk_index): hit.score for hit in before.results}
    assert all(
        head[hit.doc_id, hit.chunk_index] == pytest.approx(hit.score) for hit in after.results
    )
    assert [hit.score for hit in after.results] != sorted(
        (h.score for h in after.results), reverse=True
    )
    assert after.audit is not None
    assert [c.rerank_score for c in after.audit.second_pass] == scores


def test_what_the_cross_encoder_reads_has_the_prefix(
    reranked: LocalSearcher, index: Path, small_settings: MakeSettings, tiny_cross_encoder: Path
) -> None:
    reranker = load_reranker(small_settings(f"rerank.model={tiny_cross_encoder}"))
    assert reranker is not None
    texts = {}
    for shard in load_current(LocalObjectStore(index)).shards:
        for row in read_chunks(index / str(shard.folder)).to_pylist():
            texts[row["doc_id"], row["chunk_index"]] = f"{row['prefix']}\n{row['text']}"
    (first, *_) = reranked.answer(QueryRequest(query=QUESTION)).results
    (expected,) = reranker.score(QUESTION, [texts[first.doc_id, first.chunk_index]])
    assert first.rerank_score == pytest.approx(expected, abs=1e-4)


def test_the_gap_rule_holds_after_a_rerank_and_the_ranking_is_deepened(
    reranked: LocalSearcher,
) -> None:
    reply = reranked.answer(QueryRequest(query=QUESTION, top_k=30, min_index_gap=4))
    places = [(result.doc_id, result.chunk_index) for result in reply.results]
    for place, (doc_id, chunk) in enumerate(places):
        others = [other for name, other in places[:place] if name == doc_id]
        assert all(abs(chunk - other) >= 4 for other in others)
    assert len(places) == 30 or reply.exhausted
    assert sum(result.rerank_score is not None for result in reply.results) <= 8


class Client(GroupClient):
    """A group in this process, as the router calls it."""

    def __init__(self, name: str, group: ShardGroup, delay_s: float = 0.0) -> None:
        self.name = name
        self.shard_ids = group.shard_ids
        self._group = group
        self._delay_s = delay_s

    async def first_pass(self, *args: object) -> object:  # type: ignore[override]
        return self._group.first_pass(*args)  # type: ignore[arg-type]

    async def second_pass(self, *args: object) -> object:  # type: ignore[override]
        return self._group.second_pass(*args)  # type: ignore[arg-type]

    async def search(self, *args: object) -> object:  # type: ignore[override]
        return self._group.search(*args)  # type: ignore[arg-type]

    async def results(self, hits: object) -> object:  # type: ignore[override]
        return self._group.results(hits)  # type: ignore[arg-type]

    async def texts(self, hits: object) -> object:  # type: ignore[override]
        await asyncio.sleep(self._delay_s)
        return self._group.texts(hits)  # type: ignore[arg-type]


def routed(
    index: Path, settings: Settings, request: QueryRequest, delay_s: float = 0.0
) -> QueryReply:
    store = LocalObjectStore(index)
    manifest = load_current(store)
    groups = [
        Client(
            f"group-{n}", ShardGroup.open(str(index), manifest, [n], settings), delay_s * (n == 1)
        )
        for n in range(3)
    ]
    encoder = load_query_encoder(manifest, settings)

    async def encode(text: str) -> Encoded:
        return encode_each(encoder, [text])[0]

    reading = Reading(encode, QuestionReader.open(store, manifest, settings))
    router = Router(manifest, groups, reading, settings, load_reranker(settings))
    return asyncio.run(router.answer(request))


@pytest.mark.parametrize("rerank", [False, True])
def test_many_groups_answer_as_one_process(
    index: Path, small_settings: MakeSettings, tiny_cross_encoder: Path, rerank: bool
) -> None:
    changes = [f"rerank.model={tiny_cross_encoder}", "rerank.candidates=8"] if rerank else []
    settings = small_settings(*changes, "serve.deadline_ms=20000")
    request = QueryRequest(
        query=QUESTION, top_k=12, exact=True, max_context_tokens=400, explain=True
    )
    alone = LocalSearcher.open(str(index), settings).answer(request)
    spread = routed(index, settings, request)
    assert spread.degraded == []
    for field in ("context", "lexical", "prior", "exhausted", "audit"):
        assert getattr(spread, field) == getattr(alone, field)
    assert [hit.model_dump() for hit in spread.results] == [
        hit.model_dump() for hit in alone.results
    ]


def test_a_late_group_costs_the_rerank_and_not_the_answer(
    index: Path, small_settings: MakeSettings, tiny_cross_encoder: Path
) -> None:
    settings = small_settings(f"rerank.model={tiny_cross_encoder}", "serve.deadline_ms=3000")
    request = QueryRequest(query=QUESTION, exact=True)
    reply = routed(index, settings, request, delay_s=30.0)
    assert [(one.group, one.reason) for one in reply.degraded] == [("rerank", "deadline passed")]
    assert reply.coverage.shards_ok == 3
    first = LocalSearcher.open(str(index), small_settings()).answer(request)
    assert [hit.model_dump() for hit in reply.results] == [
        hit.model_dump() for hit in first.results
    ]


def test_a_question_that_is_too_long_for_the_cross_encoder_is_answered_without(
    reranked: LocalSearcher, index: Path, small_settings: MakeSettings, tiny_cross_encoder: Path
) -> None:
    request = QueryRequest(query="rinse the blade " * 60)
    settings = small_settings(f"rerank.model={tiny_cross_encoder}", "serve.deadline_ms=20000")
    for reply in (reranked.answer(request), routed(index, settings, request)):
        assert reply.results
        assert all(result.rerank_score is None for result in reply.results)
        (note,) = [one for one in reply.degraded if one.group == "rerank"]
        assert "tokens" in note.reason


def test_settings_of_a_question_are_checked() -> None:
    for wrong in ({"lexical_weight": 1.5}, {"max_context_tokens": -1}, {"context_rule": "all"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            QueryRequest.model_validate({"query": QUESTION, **wrong})
