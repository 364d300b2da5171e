"""Where evidence and results lie."""

from collections.abc import Callable

from scp_ray.evaluation.pages.content import HeatStrips
from scp_ray.evaluation.runs.places import NUM_PLACES, places_section
from scp_ray.evaluation.runs.record import AskedQuestion, EvaluationRun

Asked = Callable[..., AskedQuestion]


def _strips(run: EvaluationRun) -> dict[str, tuple[tuple[int, ...], ...]]:
    plot = places_section(run).plot
    assert isinstance(plot, HeatStrips)
    return dict(plot.rows)


def _filled(strip: tuple[int, ...]) -> dict[int, int]:
    assert len(strip) == NUM_PLACES
    return {place: count for place, count in enumerate(strip) if count}


def test_questions_count_at_the_places_that_they_touch(
    asked: Asked, make_run: Callable[..., EvaluationRun]
) -> None:
    # a.md has 1,000 characters, 20 a place.
    run = make_run(
        asked("q1", ("a.md", 0, 20), ("a.md", 10, 21), relevant=[("a.md", 100, 141)]),
        asked("q2", ("b.md", 0, 100), relevant=[("a.md", 139, 140), ("a.md", 980, 1000)]),
    )
    strips = _strips(run)
    assert list(strips) == ["a.md"]
    evidence, results = strips["a.md"]
    assert _filled(evidence) == {5: 1, 6: 2, 7: 1, 49: 1}
    assert _filled(results) == {0: 1, 1: 1}


def test_many_documents_are_cut_to_those_with_most_evidence(
    asked: Asked, make_run: Callable[..., EvaluationRun]
) -> None:
    names = [f"{number:02d}.md" for number in range(40)]
    questions = [asked(f"q{name}", relevant=[(name, 0, 10)]) for name in names]
    questions += [asked("twice", relevant=[("39.md", 500, 510)])]
    run = make_run(*questions, num_characters=dict.fromkeys(names, 1000))
    assert list(_strips(run)) == [*names[:29], "39.md"]
    assert "The 30 documents with most evidence of 40" in places_section(run).notes[-1]
