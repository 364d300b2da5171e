"""Shows a sweep: a line for each metric, and what each value gains over the one in force."""

from typing import Final

from scp_ray.evaluation.bootstrap import mean_interval
from scp_ray.evaluation.pages.axes import number
from scp_ray.evaluation.pages.content import Cells, Line, LinePlot, Section, Table
from scp_ray.evaluation.paired import paired_difference
from scp_ray.evaluation.runs.record import Sweep, SweepPoint

_EVERYTHING_ELSE: Final = "All else is as in the settings below."


def sweep_section(sweep: Sweep, num_all: int) -> Section:
    """Return a sweep's plot and table.

    Args:
        sweep: At least one value.
        num_all: Questions of the whole evaluation, to be told where a sweep asks fewer.
    """
    names = list(sweep.points[0].values)
    notes = [_EVERYTHING_ELSE]
    if sweep.num_questions < num_all:
        notes.append(
            f"Asked of {sweep.num_questions} of the {num_all} questions, drawn at random with a "
            "fixed seed."
        )
    if sweep.base is not None:
        notes.append(
            f"The setting in force is {number(sweep.in_force)}; differences are from it, paired by "
            "question, and one whose interval holds 0 is noise."
        )
    lines = tuple(
        Line(
            name,
            tuple((point.value, mean_interval(point.values[name])) for point in sweep.points),
        )
        for name in names
    )
    plot = LinePlot(
        sweep.title, sweep.setting, "mean, and its 95 % interval", lines, sweep.in_force
    )
    columns = [sweep.setting.split(".")[-1]]
    for name in names:
        columns += [name, "interval"] if sweep.base is None else [name, "difference", "interval"]
    rows = tuple(_row(sweep, point) for point in sweep.points)
    return Section(sweep.title, tuple(notes), plot, Table(tuple(columns), rows))


def _row(sweep: Sweep, point: SweepPoint) -> Cells:
    cells = [number(point.value)]
    for name, values in point.values.items():
        mean = mean_interval(values)
        if sweep.base is None:
            cells += [f"{mean.point:.3f}", f"{mean.low:.3f} to {mean.high:.3f}"]
        elif point is sweep.base:
            cells += [f"{mean.point:.3f}", "in force", ""]
        else:
            gain = paired_difference(sweep.base.values[name], values)
            cells += [
                f"{mean.point:.3f}",
                f"{gain.mean:+.3f}",
                f"{gain.low:+.3f} to {gain.high:+.3f}",
            ]
    return tuple(cells)
