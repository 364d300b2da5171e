"""The settings choose the annotator."""

import pytest

from scp_ray.annotators.factory import annotator_revision, make_annotator, served_model
from scp_ray.config import Settings, load_settings
from scp_ray.errors import ConfigError
from scp_ray.records import ChunkAnnotation
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.testing import MemoryObjectStore

CHUNKS = ["# Tarn Heat 40 User Manual\n\nKeep the heater dry.", "Read this manual first."]
MODEL = ["llm.model=m", "openai.base_url=http://127.0.0.1:9/v1"]


def settings(*assignments: str) -> Settings:
    return load_settings(None, assignments, {})


def annotations(*assignments: str) -> list[ChunkAnnotation]:
    annotator = make_annotator(
        settings(*assignments),
        lambda fingerprint: StoredAnnotationCache(MemoryObjectStore(), fingerprint),
    )
    return annotator.annotate([CHUNKS])[0].annotations


def test_heuristic_writes_signatures() -> None:
    assert annotations("chop.annotator=heuristic")[0].cnm.model == "Tarn Heat 40"


def test_none_writes_no_signatures() -> None:
    assert annotations("chop.annotator=none")[0].cnm.is_empty


def test_whatever_can_change_an_annotation_has_a_revision_of_its_own() -> None:
    names = ["none", "heuristic", "openai", "vllm"]
    revisions = {
        *(annotator_revision(settings(f"chop.annotator={name}", *MODEL)) for name in names),
        *(
            annotator_revision(settings("chop.annotator=vllm", *MODEL, more))
            for more in ("llm.model=other", "llm.revision=v2", "vllm.dtype=float32")
        ),
    }
    assert len(revisions) == len(names) + 3


def test_how_fast_a_model_is_asked_changes_no_annotation() -> None:
    plain = annotator_revision(settings("chop.annotator=openai", *MODEL))
    faster = ["llm.lookahead=99", "openai.concurrency=7", "llm.timeout_s=3"]
    assert annotator_revision(settings("chop.annotator=openai", *MODEL, *faster)) == plain


@pytest.mark.parametrize(
    ("assignments", "told"),
    [(["chop.annotator=vllm"], "llm.model"), (["chop.annotator=openai", MODEL[0]], "base_url")],
)
def test_what_is_missing_is_named(assignments: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        annotator_revision(settings(*assignments))


def test_the_served_model_is_part_of_the_revision_and_says_nothing_of_prompts() -> None:
    chosen = settings("chop.annotator=vllm", "llm.model=m", "llm.revision=v2", "vllm.dtype=float32")
    assert served_model(chosen) == "vllm m v2 float32 "
    assert annotator_revision(chosen).endswith(served_model(chosen))
