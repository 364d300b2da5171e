"""The lexical index of a shard: files and scores."""

import math
from pathlib import Path

import numpy as np
import pytest

from scp_ray.errors import IndexFormatError
from scp_ray.index.lexical import (
    COUNTS_FILE,
    LENGTHS_FILE,
    LEXICAL_FILES,
    ROWS_FILE,
    LexicalIndex,
    read_postings,
    write_postings,
)
from scp_ray.index.postings import build_postings
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import LexicalQuery

TEXTS = ["red red fox", "", "blue fox", "fox", "grey wolf", *["owl"] * 20]


def words(**idf: float) -> LexicalQuery:
    return LexicalQuery(idf, mean_length=2.0, k1=1.2, b=0.75)


def written(folder: Path) -> LexicalIndex:
    write_postings(build_postings(TEXTS, Stemmer.NONE), folder)
    return LexicalIndex(read_postings(folder))


def test_scores_are_bm25_over_its_bound(tmp_path: Path) -> None:
    scores = written(tmp_path).scores(words(red=2.0, fox=0.5))
    norm = 1.2 * (0.25 + 0.75 * 3 / 2)
    expected = (2.0 * 2 / (2 + norm) + 0.5 * 1 / (1 + norm)) / 2.5
    assert scores[0] == pytest.approx(expected, abs=1e-15)
    assert scores.shape == (len(TEXTS),)
    assert np.flatnonzero(scores).tolist() == [0, 2, 3]


def test_a_frequent_term_scores_as_a_rare_one(tmp_path: Path) -> None:
    index = written(tmp_path)
    alone = LexicalIndex(build_postings(["owl", *["x"] * 30], Stemmer.NONE))
    assert index.scores(words(owl=1.0))[5] == alone.scores(words(owl=1.0))[0]


def test_unknown_terms_add_nothing(tmp_path: Path) -> None:
    assert not written(tmp_path).scores(words(lion=3.0)).any()


def test_a_question_without_known_words_scores_nothing(tmp_path: Path) -> None:
    nothing = LexicalQuery({}, mean_length=0.0, k1=1.2, b=0.75)
    assert not written(tmp_path).scores(nothing).any()


def test_other_settings_are_not_answered_from_the_last(tmp_path: Path) -> None:
    index = written(tmp_path)
    first = index.scores(words(fox=1.0))
    other = LexicalQuery({"fox": 1.0}, mean_length=2.0, k1=3.0, b=0.0)
    changed = index.scores(other)
    assert changed[3] == pytest.approx(1 / (1 + 3.0), abs=1e-15)
    assert index.scores(words(fox=1.0)).tolist() == first.tolist()


def test_a_shard_without_chunks_has_no_scores(tmp_path: Path) -> None:
    write_postings(build_postings([], Stemmer.NONE), tmp_path)
    assert LexicalIndex(read_postings(tmp_path)).scores(words(fox=1.0)).shape == (0,)


def test_chunks_without_terms_have_finite_scores(tmp_path: Path) -> None:
    write_postings(build_postings(["", "fox"], Stemmer.NONE), tmp_path)
    query = LexicalQuery({"fox": 1.0}, mean_length=0.5, k1=1.2, b=1.0)
    scores = LexicalIndex(read_postings(tmp_path)).scores(query)
    assert scores[0] == 0.0
    assert math.isfinite(scores[1])


@pytest.mark.parametrize("name", LEXICAL_FILES)
def test_a_missing_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    written(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(IndexFormatError, match=name):
        read_postings(tmp_path)


@pytest.mark.parametrize("name", LEXICAL_FILES)
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    written(tmp_path)
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(IndexFormatError, match=name):
        read_postings(tmp_path)


@pytest.mark.parametrize("name", [ROWS_FILE, COUNTS_FILE, LENGTHS_FILE])
def test_files_of_another_shard_are_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path)
    array = np.load(tmp_path / name)
    np.save(tmp_path / name, array[:-1])
    with pytest.raises(IndexFormatError, match="not of one shard"):
        read_postings(tmp_path)


def test_rows_outside_the_shard_are_refused(tmp_path: Path) -> None:
    written(tmp_path)
    rows = np.load(tmp_path / ROWS_FILE)
    rows[0] = 1000
    np.save(tmp_path / ROWS_FILE, rows)
    with pytest.raises(IndexFormatError, match="not of one shard"):
        read_postings(tmp_path)


def test_an_array_of_another_type_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    np.save(tmp_path / COUNTS_FILE, np.load(tmp_path / COUNTS_FILE).astype(np.int64))
    with pytest.raises(IndexFormatError, match="expected uint8"):
        read_postings(tmp_path)
