"""The reranker that counts shared words; the contract suite holds it to what real ones do."""

from scp_ray.testing import OverlapReranker


def test_score_is_the_share_of_the_question_s_words() -> None:
    scores = OverlapReranker().score(
        "Clean the pump, the PUMP!", ["Pump", "clean pumps", "the pump is clean", "", "over"]
    )
    assert scores.tolist() == [1 / 3, 1 / 3, 1.0, 0.0, 0.0]


def test_question_without_words_prefers_nothing() -> None:
    assert OverlapReranker().score("?!", ["a", "?!"]).tolist() == [0.0, 0.0]
