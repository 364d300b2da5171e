"""What the figures of the rounds come to."""

import pytest

from benchmarks.serve_rounds import compared


def measured(p50_ms: float, *rates: float) -> dict[str, dict[str, float]]:
    return {
        clients: {"p50_ms": p50_ms, "requests_per_s": rate}
        for clients, rate in zip(("1", "8", "64"), rates, strict=True)
    }


ROUNDS = [
    {
        "ceiling": measured(0.1, 1e3, 1e4, 1e4),
        "floor": measured(floor, 90, 160, 160),
        "ours": measured(18.0, 50, ours, 300),
        "ours_vectors": measured(9.0, 50, 2 * ours, 300),
        "chroma": measured(20.0, 50, 100, 150),
        "chroma_gathered": measured(20.0, 50, 200, 600),
    }
    for floor, ours in ((10.0, 200.0), (20.0, 100.0), (40.0, 50.0))
]


def test_p50_is_held_against_the_floor_of_its_own_round() -> None:
    goal = compared(ROUNDS)["of_p50_goal"]
    assert goal["ours"]["max"] == 1.0  # 18 ms of 1.3 * 10 + 5
    assert goal["ours"]["median"] == pytest.approx(18 / 31, rel=1e-3)
    assert goal["ours_vectors"]["min"] == pytest.approx(9 / 57, rel=1e-3)


def test_requests_are_held_against_each_other_service() -> None:
    ahead = compared(ROUNDS)["ahead"]
    assert list(ahead["ours"]) == ["chroma", "chroma_gathered"]
    assert ahead["ours"]["chroma"]["8"] == {"median": 1.0, "min": 0.5, "max": 2.0, "runs": 3}
    assert ahead["ours"]["chroma_gathered"]["64"]["median"] == 0.5
    assert ahead["ours_vectors"]["chroma"]["8"]["median"] == 2.0
    assert set(ahead["ours"]["chroma"]) == {"8", "64"}
