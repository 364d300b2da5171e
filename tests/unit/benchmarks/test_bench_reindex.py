"""Figures of the runs, and their settings."""

from benchmarks.bench_reindex import reindex_settings, summed_up
from scp_ray.sections import AnnotatorName


def test_figures_and_groups_of_figures_are_spread_over_the_runs() -> None:
    runs = [
        {"seconds": 3.0, "phase_s": {"build": 1.0}},
        {"seconds": 5.0, "phase_s": {"build": 2.0}},
        {"seconds": 4.0, "phase_s": {"build": 9.0}},
    ]
    assert summed_up(runs) == {
        "seconds": {"median": 4.0, "min": 3.0, "max": 5.0, "runs": 3},
        "phase_s": {"build": {"median": 2.0, "min": 1.0, "max": 9.0, "runs": 3}},
    }


def test_settings_name_the_server_and_take_more() -> None:
    settings = reindex_settings("http://127.0.0.1:9/v1", ["embedding.model=hash://64"])
    assert settings.openai.base_url == "http://127.0.0.1:9/v1"
    assert settings.chop.annotator is AnnotatorName.OPENAI
    assert settings.embedding.model == "hash://64"
