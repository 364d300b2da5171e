"""From a request to vector and words, and what of it cannot be used."""

from typing import Any

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.embedding.hash_encoder import HashEncoder
from scp_ray.errors import ConfigError, EncoderError
from scp_ray.index.postings import build_postings
from scp_ray.index.term_statistics import TermStatistics, sum_term_statistics
from scp_ray.records import Stemmer
from scp_ray.sections import LexicalConfig
from scp_ray.serve.models import DegradedModel, QueryRequest
from scp_ray.serve.query_encoding import EncodedQuestion
from scp_ray.serve.question_reader import QuestionReader

DIM = 8
ENCODER = HashEncoder(DIM)
ENCODED = EncodedQuestion(ENCODER.encode_query(["the pump"])[0], None)
TERMS = TermStatistics(
    sum_term_statistics([build_postings(["pump valve", "pump"], Stemmer.NONE).terms]),
    LexicalConfig(),
    Stemmer.NONE,
)
READER = QuestionReader(DIM, TERMS, ENCODER.tokenizer)
WORDS_COUNT = Settings().query_params(lexical_weight=0.5)
WORDS_DO_NOT = Settings().query_params(lexical_weight=0.0)


def test_a_text_has_its_vector_and_its_words() -> None:
    question, notes = READER.read(QueryRequest(query="the pump"), WORDS_COUNT, ENCODED)
    assert question.vector is ENCODED.vector
    assert question.words == TERMS.weigh("the pump")
    assert notes == []


def test_words_are_left_out_where_they_have_no_weight() -> None:
    question, _ = READER.read(QueryRequest(query="the pump"), WORDS_DO_NOT, ENCODED)
    assert question.words is None


def test_what_the_encoder_left_out_is_passed_on() -> None:
    note = DegradedModel(group="question", reason="cut")
    _, notes = READER.read(
        QueryRequest(query="the pump"), WORDS_COUNT, EncodedQuestion(ENCODED.vector, note)
    )
    assert notes == [note]


def test_a_refused_text_is_the_askers_fault() -> None:
    with pytest.raises(ConfigError, match="query: too long"):
        READER.read(QueryRequest(query="the pump"), WORDS_COUNT, EncoderError("too long"))


def test_a_given_embedding_is_made_a_unit_vector_and_has_no_words() -> None:
    request = QueryRequest(embedding=[3.0, 4.0, *([0.0] * (DIM - 2))])
    question, notes = READER.read(request, WORDS_COUNT, None)
    assert question.vector.dtype == np.float32
    assert question.vector.tolist() == pytest.approx([0.6, 0.8, *([0.0] * (DIM - 2))])
    assert question.words is None
    assert notes == []


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e308])
def test_the_length_of_an_embedding_does_not_matter(size: float) -> None:
    request = QueryRequest(embedding=[size] * DIM)
    vector = READER.read(request, WORDS_COUNT, None).question.vector
    assert vector.tolist() == pytest.approx([DIM**-0.5] * DIM)


@pytest.mark.parametrize(
    "wrong", [[1.0], [1.0] * (DIM + 1), [0.0] * DIM, [float("inf")] * DIM, [float("nan")] * DIM]
)
def test_an_embedding_without_a_direction_is_refused(wrong: list[float]) -> None:
    request: Any = QueryRequest.model_construct(query=None, embedding=wrong)
    with pytest.raises(ConfigError, match="embedding: expected 8 finite numbers"):
        READER.read(request, WORDS_COUNT, None)
