"""The report of measured answers."""

from scp_ray.evaluation.generation.answering import Answered
from scp_ray.evaluation.generation.report import report_generation
from scp_ray.evaluation.generation.scoring import Measured, score_answers
from scp_ray.evaluation.pages.page import render_page
from scp_ray.evaluation.pages.summary import render_summary


def test_each_number_of_passages_has_a_row(measured: Measured) -> None:
    section = report_generation(measured).sections[0]
    assert section.table is not None
    one, three = section.table.rows
    perfect = "1.000 (1.00 to 1.00)"
    assert one == ("1", "1", "1", "0", "0", perfect, perfect, "-", perfect)
    assert three[:5] == ("3", "2", "0", "1", "1")
    assert three[5].startswith("0.286 (")
    assert three[-1] == "0.500 (0.50 to 0.50)"


def test_the_paper_stands_beside_our_figures(measured: Measured) -> None:
    section = report_generation(measured).sections[1]
    assert section.table is not None
    rows = section.table.rows
    assert rows[0] == ("1", "scp_ray", "1.0000", "1.0000", "-")
    assert rows[1][:2] == ("3", "scp_ray")
    assert ("3", "paper: CHOP", "0.3513", "0.3164", "0.7257") in rows
    assert [int(row[0]) for row in rows] == sorted(int(row[0]) for row in rows)
    assert any("Gemma-12B" in note and "qwen" in note for note in section.notes)


def test_the_worst_answers_and_the_failures_are_listed(measured: Measured) -> None:
    worst, failures = report_generation(measured).sections[2:]
    assert worst.table is not None
    assert [row[0] for row in worst.table.rows] == ["q2", "q1"]
    assert worst.table.rows[0][-1] == "The passages do not say."
    assert failures.table is not None
    assert failures.table.rows == (("q2", "1", "no answer in time"),)


def test_it_can_be_shown_as_text_and_as_a_page(measured: Measured) -> None:
    report = report_generation(measured)
    assert "2 questions with a reference answer, 5 without one left out" in render_summary(report)
    assert "paper: Cosine-Chunking" in render_page(report)


def test_nothing_answered_leaves_no_plot(measured: Measured) -> None:
    failed = score_answers([Answered("q1", 1, None, failure="no")], measured.references, None)
    report = report_generation(
        Measured(measured.questions[:1], measured.references, failed, measured.setup, 0)
    )
    assert [section.title for section in report.sections][-1] == "Without an answer"
    assert report.sections[0].plot is None
    render_page(report)
