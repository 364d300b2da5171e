"""Sections of sweeps."""

from scp_ray.evaluation.pages.content import LinePlot
from scp_ray.evaluation.runs.record import Sweep, SweepPoint
from scp_ray.evaluation.runs.sweep_plots import sweep_section


def _sweep(in_force: float) -> Sweep:
    points = (
        SweepPoint(1.0, {"hit@1": [1.0, 0.0, 1.0, 0.0]}),
        SweepPoint(2.0, {"hit@1": [1.0, 1.0, 1.0, 1.0]}),
    )
    return Sweep("Gap", "retrieval.min_index_gap", in_force, points)


def test_differences_are_from_the_value_in_force() -> None:
    section = sweep_section(_sweep(1.0), num_all=4)
    assert section.table is not None
    assert section.table.columns == ("min_index_gap", "hit@1", "difference", "interval")
    assert section.table.rows == (
        ("1", "0.500", "in force", ""),
        ("2", "1.000", "+0.500", "+0.000 to +1.000"),
    )
    assert not any("drawn at random" in note for note in section.notes)
    assert isinstance(section.plot, LinePlot)
    assert section.plot.marked_x == 1.0
    assert [(x, value.point) for x, value in section.plot.lines[0].points] == [
        (1.0, 0.5),
        (2.0, 1.0),
    ]


def test_without_a_value_in_force_intervals_are_of_the_means() -> None:
    section = sweep_section(_sweep(0.0), num_all=300)
    assert section.table is not None
    assert section.table.columns == ("min_index_gap", "hit@1", "interval")
    assert section.table.rows[1] == ("2", "1.000", "1.000 to 1.000")
    assert "Asked of 4 of the 300 questions" in " ".join(section.notes)
