"""The query over a published index, in this process."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scp_ray.embedding.factory import load_encoder
from scp_ray.errors import ChecksumError, ConfigError, EncoderError, IndexFormatError
from scp_ray.index.shard_files import read_chunks
from scp_ray.pipeline.report import RunReport
from scp_ray.serve.models import QueryReply, QueryRequest
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.publish import load_current

Run = Callable[..., RunReport]
QUESTION = "How do I clean the filter of the Orbis K-104 Kettle?"


@pytest.fixture
def searcher(run: Run, tmp_path: Path, small_settings: Callable[..., object]) -> LocalSearcher:
    run()
    return LocalSearcher.open(str(tmp_path / "index"), small_settings())


def test_results_are_the_documents_own_text(searcher: LocalSearcher, corpus: Path) -> None:
    reply = searcher.answer(QueryRequest(query=QUESTION, top_k=10))
    assert len(reply.results) == 10
    for result in reply.results:
        text = (corpus / result.doc_id).read_text()
        assert text[result.char_start : result.char_end] == result.text
        assert result.source_uri == f"{corpus}/{result.doc_id}"
    assert reply.coverage.shards_ok == reply.coverage.shards_total == 3
    assert reply.coverage.documents == 12
    assert reply.audit is None


def test_score_is_similarity_plus_position(
    run: Run, tmp_path: Path, small_settings: Callable[..., object]
) -> None:
    run()
    weight = 0.3
    settings = small_settings("retrieval.prior_gate=0")
    searcher = LocalSearcher.open(str(tmp_path / "index"), settings)
    reply = searcher.answer(
        QueryRequest(
            query=QUESTION, position_weight=weight, lexical_weight=0.0, exact=True, explain=True
        )
    )
    assert reply.prior.applied
    mu = reply.prior.position
    assert mu is not None
    query = load_encoder(small_settings().embedding).encode_query([QUESTION])[0]
    vectors = {}
    for shard in load_current(LocalObjectStore(tmp_path / "index")).shards:
        for row in read_chunks(tmp_path / "index" / str(shard.folder)).to_pylist():
            vectors[row["doc_id"], row["chunk_index"]] = np.array(row["embedding"])
    for result in reply.results:
        cosine = float(vectors[result.doc_id, result.chunk_index] @ query.astype(np.float64))
        position = result.chunk_index / (result.num_chunks - 1)
        expected = cosine + weight * np.cos(np.pi * (position - mu))
        assert result.score == pytest.approx(expected, abs=1e-6)
        assert result.semantic_score == pytest.approx(cosine, abs=1e-6)


def test_gap_holds_between_all_results_of_a_document(searcher: LocalSearcher) -> None:
    reply = searcher.answer(QueryRequest(query=QUESTION, top_k=30, min_index_gap=3))
    places = [(result.doc_id, result.chunk_index) for result in reply.results]
    for doc_id, index in places:
        others = [other for name, other in places if name == doc_id and other != index]
        assert all(abs(index - other) >= 3 for other in others)


def test_audit_names_the_kept_neighbour_of_each_dropped_candidate(
    searcher: LocalSearcher,
) -> None:
    reply = searcher.answer(QueryRequest(query=QUESTION, top_k=20, min_index_gap=4, explain=True))
    audit = reply.audit
    assert audit is not None
    kept = {(one.doc_id, one.chunk_index) for one in audit.decisions if one.kept}
    assert kept == {(result.doc_id, result.chunk_index) for result in reply.results}
    dropped = [one for one in audit.decisions if not one.kept]
    assert dropped
    for one in dropped:
        assert (one.doc_id, one.near) in kept
        assert abs(one.chunk_index - int(one.near or 0)) < 4
    scores = [candidate.score for candidate in audit.second_pass]
    assert scores == sorted(scores, reverse=True)


def test_asking_for_more_than_there_is_is_exhausted(searcher: LocalSearcher) -> None:
    reply = searcher.answer(QueryRequest(query=QUESTION, top_k=1000, min_index_gap=1))
    assert reply.exhausted
    assert len(reply.results) == searcher.manifest.num_chunks
    assert not searcher.answer(QueryRequest(query=QUESTION, top_k=3)).exhausted


def test_filter_gives_all_that_match(searcher: LocalSearcher) -> None:
    only = QueryRequest(
        query=QUESTION, top_k=1000, min_index_gap=1, filter={"doc_id": "manual_004.md"}
    )
    reply = searcher.answer(only)
    assert {result.doc_id for result in reply.results} == {"manual_004.md"}
    assert len(reply.results) == reply.results[0].num_chunks
    nothing = searcher.answer(QueryRequest(query=QUESTION, filter={"doc_id": "absent"}))
    assert (nothing.results, nothing.exhausted) == ([], True)
    assert nothing.prior.position is None


def test_embedding_in_place_of_text(
    searcher: LocalSearcher, small_settings: Callable[..., object]
) -> None:
    vector = load_encoder(small_settings().embedding).encode_query([QUESTION])[0]
    by_text = searcher.answer(QueryRequest(query=QUESTION, lexical_weight=0.0))
    by_vector = searcher.answer(QueryRequest(embedding=[3.0 * x for x in vector.tolist()]))
    assert [result.doc_id for result in by_vector.results] == [
        result.doc_id for result in by_text.results
    ]


def _ranking(reply: QueryReply) -> list[tuple[str, int, float]]:
    return [(result.doc_id, result.chunk_index, result.score) for result in reply.results]


def test_any_number_of_shards_gives_one_answer_under_exact_search(
    run: Run, tmp_path: Path, small_settings: Callable[..., object]
) -> None:
    replies = []
    for count in (1, 2, 3, 7):
        run(f"index.num_shards={count}", index=f"index{count}")
        searcher = LocalSearcher.open(str(tmp_path / f"index{count}"), small_settings())
        request = QueryRequest(query=QUESTION, top_k=15, exact=True, explain=True)
        replies.append(searcher.answer(request))
    for reply in replies[1:]:
        assert _ranking(reply) == _ranking(replies[0])
        assert reply.audit == replies[0].audit
        assert reply.prior == replies[0].prior


def test_scope_shard_gives_each_shard_its_own_prior(searcher: LocalSearcher) -> None:
    reply = searcher.answer(QueryRequest(query=QUESTION, prior_scope="shard", explain=True))
    assert len(reply.results) == 5
    assert reply.prior.position is None


@pytest.mark.parametrize(
    ("request_values", "message"),
    [
        ({"embedding": [1.0, 2.0]}, "expected 32 finite numbers"),
        ({"embedding": [0.0] * 32}, "expected 32 finite numbers"),
        ({"query": "x", "filter": {"colour": "red"}}, "filter: unknown field 'colour'"),
    ],
)
def test_questions_that_cannot_be_asked(
    searcher: LocalSearcher, request_values: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        searcher.answer(QueryRequest.model_validate(request_values))


def test_damaged_file_is_refused_by_name(
    run: Run, tmp_path: Path, small_settings: Callable[..., object]
) -> None:
    run()
    victims = sorted((tmp_path / "index" / "shards").rglob("*.*"))
    assert len(victims) >= 9
    for victim in victims:
        data = victim.read_bytes()
        victim.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(ChecksumError, match=victim.name):
            LocalSearcher.open(str(tmp_path / "index"), small_settings())
        victim.write_bytes(data)
    LocalSearcher.open(str(tmp_path / "index"), small_settings())


def test_other_encoder_under_the_same_name_is_refused(
    run: Run,
    tmp_path: Path,
    small_settings: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run()
    monkeypatch.setattr("scp_ray.embedding.hash_encoder._REVISION", "another")
    with pytest.raises(EncoderError, match="install the same model, or build the index again"):
        LocalSearcher.open(str(tmp_path / "index"), small_settings())


def test_no_index(tmp_path: Path, small_settings: Callable[..., object]) -> None:
    with pytest.raises(IndexFormatError, match="no index here"):
        LocalSearcher.open(str(tmp_path / "index"), small_settings())
