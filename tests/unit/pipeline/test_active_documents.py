"""How many documents each engine has at work, over time."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.pipeline.active_documents import ActiveDocuments
from scp_ray.records import ActivePeriod

MOMENT = st.floats(1.7e9, 1.7e9 + 30 * 86_400)
PERIODS = st.lists(
    st.builds(
        lambda engine, began, seconds: ActivePeriod(engine, began, began + seconds),
        st.sampled_from(["a:1", "b:2"]),
        MOMENT,
        st.floats(0, 90_000),
    ),
    min_size=1,
    max_size=20,
)


def timelines(*periods: ActivePeriod) -> dict[str, object]:
    active = ActiveDocuments()
    for period in periods:
        active.add(period)
    return active.timelines()


def test_nothing_to_say_where_no_model_was_asked() -> None:
    assert timelines() == {}


def test_two_documents_at_once_and_then_one() -> None:
    found = timelines(ActivePeriod("a:1", 1000.0, 1002.0), ActivePeriod("a:1", 1000.0, 1004.0))
    assert found == {
        "began": "1970-01-01T00:16:40+00:00",
        "step_s": 1,
        "engines": {"a:1": [2.0, 2.0, 1.0, 1.0, 0.0]},
    }


def test_engines_share_one_clock() -> None:
    found = timelines(ActivePeriod("b:1", 1003.0, 1003.5), ActivePeriod("a:1", 1000.5, 1002.0))
    assert found["engines"] == {"a:1": [0.5, 1.0, 0.0, 0.0], "b:1": [0.0, 0.0, 0.0, 0.5]}


@given(PERIODS)
def test_no_second_is_lost_and_a_long_run_stays_short(periods: list[ActivePeriod]) -> None:
    found = timelines(*periods)
    step_s: int = found["step_s"]  # type: ignore[assignment]
    engines: dict[str, list[float]] = found["engines"]  # type: ignore[assignment]
    began = datetime.fromisoformat(str(found["began"])).timestamp()
    first, last = min(p.began for p in periods), max(p.ended for p in periods)
    assert began <= first < began + step_s
    for engine, steps in engines.items():
        assert len(steps) <= 240
        assert began + (len(steps) - 1) * step_s <= last < began + len(steps) * step_s
        expected = sum(p.ended - p.began for p in periods if p.engine == engine)
        assert sum(steps) * step_s == pytest.approx(expected, abs=0.005 * step_s * len(steps) + 0.1)
