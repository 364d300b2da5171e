"""Which questions a sweep asks."""

from scp_ray.evaluation.queries import Query
from scp_ray.serve.sweeping import MOST_QUESTIONS, draw_questions


def _queries(number: int) -> list[Query]:
    return [Query(f"q{place}", "?", ()) for place in range(number)]


def test_few_questions_are_all_asked() -> None:
    assert draw_questions(_queries(MOST_QUESTIONS)) == _queries(MOST_QUESTIONS)


def test_many_are_drawn_in_their_order_and_the_same_each_time() -> None:
    queries = _queries(1000)
    drawn = draw_questions(queries)
    assert len(drawn) == len({query.query_id for query in drawn}) == MOST_QUESTIONS
    assert drawn == sorted(drawn, key=queries.index)
    assert drawn == draw_questions(queries)
    assert drawn != queries[:MOST_QUESTIONS]
