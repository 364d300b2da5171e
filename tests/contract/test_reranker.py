"""What every reranker must do, over the one that counts words and a cross-encoder."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from scp_ray.embedding.cross_encoder import load_cross_encoder
from scp_ray.protocols import Reranker
from scp_ray.sections import EmbeddingConfig
from scp_ray.testing import OverlapReranker

QUESTION = "the pump valve"
TEXTS = [
    "the pump",
    "",
    "Überdruckventil, 漢字 und \N{GRINNING FACE} e\u0301",
    "a valve. " * 100,
    "pump",
    "valve of the pump",
]


def _cross_encoder(folder: Path) -> Reranker:
    config = EmbeddingConfig(device="cpu", batch_size=4)
    return load_cross_encoder(str(folder), config, num_threads=0)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Keep torch to one thread: several wait for one another on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", params=["overlap", "cross-encoder"])
def make_reranker(
    request: pytest.FixtureRequest, tiny_cross_encoder: Path
) -> Callable[[], Reranker]:
    if request.param == "overlap":
        return OverlapReranker
    return lambda: _cross_encoder(tiny_cross_encoder)


@pytest.fixture(scope="module")
def reranker(make_reranker: Callable[[], Reranker], one_thread: None) -> Reranker:
    return make_reranker()


def test_scores_are_finite_and_in_the_order_given(reranker: Reranker) -> None:
    scores = reranker.score(QUESTION, TEXTS)
    assert scores.dtype == np.float64
    assert scores.shape == (len(TEXTS),)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0.1
    np.testing.assert_allclose(reranker.score(QUESTION, TEXTS[::-1])[::-1], scores, atol=1e-5)


def test_a_score_does_not_depend_on_the_other_texts(reranker: Reranker) -> None:
    scores = reranker.score(QUESTION, TEXTS)
    for text, score in zip(TEXTS, scores, strict=True):
        np.testing.assert_allclose(reranker.score(QUESTION, [text]), [score], atol=1e-5)


def test_equal_texts_have_equal_scores(reranker: Reranker) -> None:
    scores = reranker.score(QUESTION, TEXTS + TEXTS[::-1])
    np.testing.assert_array_equal(scores, scores[::-1])


def test_no_texts(reranker: Reranker) -> None:
    scores = reranker.score(QUESTION, [])
    assert scores.shape == (0,)
    assert scores.dtype == np.float64


def test_the_question_counts(reranker: Reranker) -> None:
    first, second = (reranker.score(question, TEXTS) for question in ("the pump", "a valve"))
    assert np.abs(first - second).max() > 0.1


def test_the_end_of_a_long_text_counts(reranker: Reranker) -> None:
    question = "the pump"
    stretches = [word * 200 for word in ("aa. ", "valve ", "the ", "pump ", "b1 ")]
    scores = reranker.score(question, stretches)
    worst, best = stretches[scores.argmin()], stretches[scores.argmax()]
    for text in (worst + best, best + worst):
        (score,) = reranker.score(question, [text])
        assert score > scores.min() + 0.1


def test_same_model_made_again_is_the_same(
    reranker: Reranker, make_reranker: Callable[[], Reranker]
) -> None:
    again = make_reranker()
    assert (again.name, again.revision) == (reranker.name, reranker.revision)
    assert len(again.revision) == 64
    np.testing.assert_array_equal(again.score(QUESTION, TEXTS), reranker.score(QUESTION, TEXTS))


def test_threads_get_their_own_answers(reranker: Reranker) -> None:
    expected = reranker.score(QUESTION, TEXTS)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda text: reranker.score(QUESTION, [text])[0], TEXTS * 2))
    np.testing.assert_allclose(answers, [*expected, *expected], atol=1e-5)
