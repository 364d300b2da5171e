"""Sections of the worst questions."""

from collections.abc import Callable

from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.evaluation.runs.explanation import explained_sections
from scp_ray.evaluation.runs.record import (
    AskedQuestion,
    Candidate,
    EvaluationRun,
    ExplainedQuestion,
    SoughtSpan,
)

MakeRun = Callable[..., EvaluationRun]
SPAN = RelevantSpan("a.md", 100, 200)


def _candidates(number: int) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(index, "b.md", 0.9, 0.8, 0.7, -0.5, index % 2 == 0, None if index % 2 == 0 else 0)
        for index in range(number)
    )


def test_question_shows_evidence_terms_and_decisions(
    asked: Callable[..., AskedQuestion], make_run: MakeRun
) -> None:
    question = asked("q1", ("b.md", 0, 100), ("a.md", 100, 200))
    sought = SoughtSpan(SPAN, "Press  the\nlever.", question.results[1], 12)
    explained = ExplainedQuestion(question, _candidates(2), "first text", (sought,), 1000)
    intro, section = explained_sections(make_run(question, explained=(explained,)))
    assert intro.title == "Worst questions"
    assert section.is_folded
    assert section.title == "q1: first relevant result at 2"
    assert section.notes == (
        "Question: What of q1?",
        "Words had the weight 0.500. The prior was at 0.400 with concentration 0.600, applied.",
        "Evidence: a.md, characters 100 to 200: “Press the lever.”",
        "First result: b.md, chunk 3: “first text”",
    )
    assert section.table is not None
    assert section.table.rows == (
        (
            "evidence 1",
            "0.6100",
            "0.5000",
            "0.7000",
            "+0.500",
            "a.md, chunk 3",
            "ranked 12 before the gap rule",
        ),
        ("1", "0.9000", "0.8000", "0.7000", "-0.500", "b.md, chunk 0", "kept"),
        ("2", "0.9000", "0.8000", "0.7000", "-0.500", "b.md, chunk 1", "too near to chunk 0"),
    )


def test_what_was_not_found_is_said(asked: Callable[..., AskedQuestion], make_run: MakeRun) -> None:
    relevant = [("a.md", 100, 200), ("a.md", 300, 400), ("a.md", 500, 600)]
    question = asked("q1", prior_position=None, relevant=relevant)
    deep = SoughtSpan(SPAN, "x" * 500, asked("x", ("a.md", 100, 200)).results[0], None)
    explained = ExplainedQuestion(
        question, _candidates(20), "", (deep, SoughtSpan(SPAN, "", None, None)), 1000
    )
    _, section = explained_sections(make_run(question, explained=(explained,)))
    shown = " ".join(section.notes)
    assert section.title == "q1: no relevant result in ten"
    assert "There was no prior for all shards." in shown
    assert "scored among the chunks of this document alone: “" + "x" * 399 + "…”" in shown
    assert "No chunk of the first 1000 covers it." in shown
    assert "Spans of evidence that are not shown: 1." in shown
    assert section.table is not None
    assert section.table.rows[0][-1] == "ranked after the first 1000"
    assert section.table.num_left_out == 5


def test_nothing_to_explain_is_said(make_run: MakeRun) -> None:
    (section,) = explained_sections(make_run())
    assert section.notes == ("The first result of every question is relevant.",)
