"""What counts as an answer that depends on the batch."""

from benchmarks.bench_agreement import Annotated, Question, compare
from scp_ray.records import ChunkAnnotation, Cnm

TITLE, PAIR = Question("title", "Kettle"), Question("pair", "a b")


def annotated(answers: dict[Question, str], *models: str | None) -> Annotated:
    chunks = [ChunkAnnotation(Cnm(model=model), model is not None) for model in models]
    return Annotated(answers, chunks)


def test_the_same_way_differs_nowhere() -> None:
    one = annotated({TITLE: "product", PAIR: "TRUE"}, "K1", None)
    assert compare(one, one) == {
        "questions": 2,
        "questions_compared": {"pair": 1, "title": 1},
        "answers_different": {"pair": 0, "title": 0},
        "share_different": 0,
        "chunks_with_another_cnm": 0,
        "decisions_different": 0,
    }


def test_differences_are_counted_by_kind_among_what_both_were_asked() -> None:
    first = annotated({TITLE: "product", PAIR: "TRUE"}, "K1", None)
    other = annotated({TITLE: "feature", Question("extraction", "x"): "{}"}, "K1", "K2")
    found = compare(first, other)
    assert found["questions"] == 2
    assert found["answers_different"] == {"title": 1}
    assert found["share_different"] == 1
    assert (found["chunks_with_another_cnm"], found["decisions_different"]) == (1, 1)
