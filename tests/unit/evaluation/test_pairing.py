"""Questions and answers pair up."""

import pytest

from scp_ray.errors import QueriesFormatError
from scp_ray.evaluation.pairing import mean, require_pairs
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import RelevantSpan

QUERY = Query("q", "how?", (RelevantSpan("a", 0, 5),))


def test_complete_pairs_pass() -> None:
    require_pairs([QUERY], {"q": []}, "replies")


@pytest.mark.parametrize("answers", [{}, {"q": [], "other": []}])
def test_what_does_not_pair_up_is_named(answers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="queries and replies do not pair up: (q|other)"):
        require_pairs([QUERY], answers, "replies")


def test_no_question_and_no_evidence_are_refused() -> None:
    with pytest.raises(QueriesFormatError, match="no query"):
        require_pairs([], {}, "replies")
    with pytest.raises(QueriesFormatError, match="'q' has no relevant span"):
        require_pairs([Query("q", "how?", ())], {"q": []}, "replies")


def test_a_mean_is_exact() -> None:
    assert mean([0.1] * 10) == 0.1
