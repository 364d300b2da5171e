"""The documents of a measurement and the questions that they serve."""

from pathlib import Path

import pytest

from benchmarks.chunked_texts import (
    ChunkedText,
    answered_by,
    device_of,
    most_asked,
    read_chunked,
)
from scp_ray.config import load_settings
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import RelevantSpan


def asked(name: str, *spans: tuple[str, int, int], query: str = "K-1: how?") -> Query:
    return Query(name, query, tuple(RelevantSpan(*span) for span in spans))


QUERIES = [
    asked("1", ("b.md", 0, 5)),
    asked("2", ("a.md", 0, 5)),
    asked("3", ("c.md", 5, 10), ("c.md", 90, 99)),
    asked("4", ("c.md", 0, 5)),
]


def test_texts_are_cut_as_an_index_would(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"one two three\r\nfour five six seven eight nine ten")
    sizes = ["chunking.chunk_size_tokens=8", "chunking.overlap_tokens=2"]
    settings = load_settings(None, ["embedding.model=hash://32", *sizes], {})
    [text] = read_chunked(tmp_path, ["a.md"], settings.embedding, settings.chunking)
    assert text.chunks[0].startswith("one two three\r\n")
    assert len(text.chunks) > 1
    [cut] = read_chunked(tmp_path, ["a.md"], settings.embedding, settings.chunking, 9)
    assert cut.chunks == ["one two t"]


def test_documents_are_chosen_by_their_questions_then_by_name() -> None:
    assert most_asked(QUERIES, 2) == ["c.md", "a.md"]
    assert most_asked(QUERIES, 0) == []


def test_a_question_counts_where_all_its_evidence_is_there() -> None:
    texts = [ChunkedText("c.md", "x" * 50, ()), ChunkedText("a.md", "x" * 5, ())]
    assert [query.query_id for query in answered_by([*QUERIES, asked("5")], texts)] == ["2", "4"]


def test_a_question_names_its_device() -> None:
    assert device_of(asked("1", query="K-1 Pro: what: this?")) == "K-1 Pro"
    with pytest.raises(ValueError, match="question 1 names no device"):
        device_of(asked("1", query="what is this?"))
