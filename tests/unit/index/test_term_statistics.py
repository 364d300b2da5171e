"""Sums over shards, and the weights of a question."""

from pathlib import Path

import pytest

from scp_ray import schema
from scp_ray.errors import IndexFormatError
from scp_ray.index import term_statistics
from scp_ray.index.postings import build_postings
from scp_ray.index.term_statistics import TermStatistics, sum_term_statistics
from scp_ray.index.term_table import TermTable, write_term_table
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import inverse_document_frequency
from scp_ray.retrieval.pairs import pairs_of
from scp_ray.sections import LexicalConfig

SHARDS = [["red fox", "fox"], [], ["fox den den", ""], ["ähre"]]


def tables() -> list[TermTable]:
    return [build_postings(texts, Stemmer.NONE).terms for texts in SHARDS]


def rows(terms: TermTable) -> list[tuple[str, int]]:
    columns = terms.table.to_pydict()
    return list(zip(columns[schema.TERM], columns[schema.CHUNK_FREQUENCY], strict=True))


def pair(first: str, second: str) -> str:
    [(_, _, term)] = pairs_of([first, second])
    return term


@pytest.mark.parametrize("gathered_rows", [1, 1000])
def test_frequencies_add_up_over_shards(
    monkeypatch: pytest.MonkeyPatch, gathered_rows: int
) -> None:
    monkeypatch.setattr(term_statistics, "_GATHERED_ROWS", gathered_rows)
    summed = sum_term_statistics(tables())
    pairs = sorted((pair(*words), 1) for words in (("red", "fox"), ("fox", "den")))
    assert rows(summed) == [*pairs, ("den", 1), ("fox", 3), ("red", 1), ("ähre", 1)]
    assert (summed.collection.num_chunks, summed.collection.num_terms) == (5, 7)


def test_no_shards_have_no_terms() -> None:
    summed = sum_term_statistics([])
    assert rows(summed) == []
    statistics = TermStatistics(summed, LexicalConfig(), Stemmer.NONE)
    assert statistics.weigh("fox").idf == {}


def test_a_question_weighs_each_known_term_once_in_its_own_order() -> None:
    statistics = TermStatistics(
        sum_term_statistics(tables()), LexicalConfig(k1=2, b=0.1), Stemmer.NONE
    )
    words = statistics.weigh("Red fox, red wolf and fox")
    assert list(words.idf) == ["red", "fox"]
    assert words.idf["fox"] == inverse_document_frequency(3, 5)
    assert words.num_unknown == 2
    assert (words.k1, words.b, words.mean_length) == (2, 0.1, 7 / 5)


def test_a_question_weighs_each_known_pair_of_known_words() -> None:
    summed = sum_term_statistics(tables())
    half = TermStatistics(summed, LexicalConfig(pair_weight=0.5), Stemmer.NONE)
    words = half.weigh("red fox, wolf den, fox red, red fox")
    assert words.pairs == {pair("red", "fox"): 0.5 * inverse_document_frequency(1, 5)}
    assert words.num_unknown == 1
    alone = TermStatistics(summed, LexicalConfig(pair_weight=0.0), Stemmer.NONE)
    assert alone.weigh("red fox").pairs == {}


def test_statistics_are_mapped_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "terms.arrow"
    summed = sum_term_statistics(tables())
    write_term_table(summed, path)
    opened = TermStatistics.open(path, LexicalConfig(), Stemmer.NONE)
    in_memory = TermStatistics(summed, LexicalConfig(), Stemmer.NONE)
    assert opened.weigh("red fox ähre") == in_memory.weigh("red fox ähre")


def test_words_of_another_revision_are_not_added_up() -> None:
    terms = tables()[0]
    old = terms._replace(collection=terms.collection.model_copy(update={"terms_revision": "old"}))
    with pytest.raises(IndexFormatError, match="made by revision old"):
        sum_term_statistics([old])
