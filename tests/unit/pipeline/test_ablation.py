"""How an ablation is sized, and what it refuses before any work."""

import pytest

from scp_ray.config import Settings, load_settings
from scp_ray.errors import ConfigError
from scp_ray.evaluation.ablation.config import AblationConfig
from scp_ray.pipeline.ablation import AblationRequest, ablation_settings, run_ablation
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.sections import AnnotatorName


def _config(*annotators: str) -> AblationConfig:
    return AblationConfig.model_validate(
        {
            "sets": {"a": {"corpus": "nowhere", "queries": "nowhere"}},
            "studies": [{"name": "x", "vary": {"annotator": list(annotators)}}],
        }
    )


def test_a_cluster_is_sized_for_the_language_model_that_is_asked_for() -> None:
    sized = ablation_settings(_config("none", "openai"), Settings())
    assert sized.chop.annotator is AnnotatorName.OPENAI
    assert ablation_settings(_config("none"), Settings()) == Settings()


def test_a_cluster_that_needs_both_language_models_has_room_for_its_own() -> None:
    sized = ablation_settings(_config("openai", "vllm"), Settings())
    assert sized.chop.annotator is AnnotatorName.VLLM


def test_a_language_model_that_is_not_named_is_refused_before_any_work() -> None:
    request = AblationRequest(_config("openai"), "out", Settings())
    with pytest.raises(ConfigError, match=r"needs a language model; name it with llm\.model"):
        run_ablation(request, InProcessExecutor(), lambda _line: None)


def test_a_corpus_that_is_not_there_is_refused() -> None:
    settings = load_settings(None, ["embedding.model=hash://32"], {})
    request = AblationRequest(_config("none"), "out", settings)
    with pytest.raises(ConfigError, match="nowhere: no such folder"):
        run_ablation(request, InProcessExecutor(), lambda _line: None)
