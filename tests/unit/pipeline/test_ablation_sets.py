"""Corpora and questions of an ablation: read once, kept, and refused where they do not fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scp_ray.errors import ConfigError, QueriesFormatError
from scp_ray.evaluation.ablation.config import SetConfig
from scp_ray.pipeline.ablation_sets import QuestionSet, load_set, read_set, save_set
from scp_ray.sections import CorpusConfig
from scp_ray.testing.memory_store import MemoryObjectStore

Read = Callable[..., QuestionSet]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a set of two documents; ``span`` is the evidence of its question."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "b.md").write_text("The lamp glows.\r\n")
    (corpus / "rows.jsonl").write_text(json.dumps({"doc_id": "a", "text": "The pump leaks."}))

    def make(names: Any = None, **span: Any) -> QuestionSet:
        evidence = {"doc_id": "a", "char_start": 0, "char_end": 8, **span}
        row = {"query_id": "q", "query": "pump?", "relevant": [evidence] if span != {} else []}
        questions, names_file = tmp_path / "questions.jsonl", tmp_path / "names.json"
        questions.write_text(json.dumps(row))
        names_file.write_text(json.dumps(names))
        config = SetConfig(
            corpus=str(corpus),
            queries=str(questions),
            true_names=None if names is None else str(names_file),
        )
        return read_set("small", config, CorpusConfig())

    return make


def test_documents_are_the_texts_of_files_and_rows_by_name(read: Read) -> None:
    one = read(char_start=4)
    assert list(one.documents.items()) == [
        ("a", "The pump leaks."),
        ("b.md", "The lamp glows.\r\n"),
    ]


def test_a_set_that_was_kept_is_the_same(read: Read) -> None:
    store, one = MemoryObjectStore(), read({"a": "K-1"}, char_start=4)
    save_set(store, one)
    assert load_set(store, one.fingerprint) == one


def test_other_questions_or_names_are_another_set(read: Read, tmp_path: Path) -> None:
    prints = [read(char_start=4).fingerprint, read(char_start=5).fingerprint]
    prints += [read({"a": "K-1"}, char_start=4).fingerprint]
    (tmp_path / "corpus" / "b.md").write_text("The lamp glows.\n")
    prints += [read(char_start=4).fingerprint]
    assert len(set(prints)) == 4


def test_where_a_set_lies_makes_no_difference(read: Read, tmp_path: Path) -> None:
    one = read(char_start=4)
    (tmp_path / "questions.jsonl").rename(tmp_path / "moved.jsonl")
    (tmp_path / "corpus").rename(tmp_path / "texts")
    config = SetConfig(corpus=str(tmp_path / "texts"), queries=str(tmp_path / "moved.jsonl"))
    assert read_set("other", config, CorpusConfig()).fingerprint == one.fingerprint


def test_evidence_must_lie_in_the_documents(read: Read) -> None:
    with pytest.raises(QueriesFormatError, match=r"line 1: .* doc_id 'c' is not in .*corpus"):
        read(doc_id="c")
    with pytest.raises(QueriesFormatError, match=r"span 0-16 is outside the text of 'a'"):
        read(char_end=16)
    with pytest.raises(QueriesFormatError, match="'q' has no relevant span to score by"):
        read()


def test_what_cannot_be_read_is_refused_with_its_name(read: Read, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"names\.json: the corpus has no document 'z'"):
        read({"z": "K-1"}, char_start=4)
    (tmp_path / "corpus" / "c.md").write_text(" ")
    with pytest.raises(ConfigError, match=r"sets\.small\.corpus: c\.md: empty: "):
        read(char_start=4)
    (tmp_path / "corpus" / "c.md").rename(tmp_path / "corpus" / "c.png")
    (tmp_path / "corpus" / "more.jsonl").write_text(json.dumps({"doc_id": "a", "text": "Again."}))
    with pytest.raises(ConfigError, match="two documents are named 'a'"):
        read(char_start=4)


def test_a_corpus_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    config = SetConfig(corpus=str(tmp_path / "corpus"), queries="none")
    with pytest.raises(ConfigError, match=r"sets\.small\.corpus: .* has no document"):
        read_set("small", config, CorpusConfig())
