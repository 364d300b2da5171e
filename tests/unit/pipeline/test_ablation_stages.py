"""What each stage of an ablation makes of its tasks."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scp_ray.config import Settings, load_settings
from scp_ray.embedding.hash_encoder import HashEncoder
from scp_ray.embedding.text_windows import text_windows
from scp_ray.errors import EncoderError
from scp_ray.evaluation.ablation.config import checked_setting, product_setting
from scp_ray.evaluation.ablation.signatures import NamedPart
from scp_ray.evaluation.ablation.variant import Variant, text_key
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.pipeline.ablation_sets import QuestionSet, save_set
from scp_ray.pipeline.ablation_stages import (
    AblationSite,
    EmbedTextsStage,
    MeasureStage,
    PrepareStage,
    embed_texts,
    task_rows,
    task_table,
)
from scp_ray.storage.manifest import EncoderEntry

SECTION = "## {title}\nPress the {title} until the lamp of the {title} glows green.\n\n"
TEXT = "# Orbis K-101 Kettle\n\n" + "".join(
    SECTION.format(title=title) for title in ("lid", "cord", "filter", "scale", "timer", "handle")
)
ONE = QuestionSet(
    "s" * 32,
    {"kettle.md": TEXT, "lamp.md": "A lamp stands here. " * 8},
    [Query("q", "Kettle: what of the scale?", (RelevantSpan("kettle.md", 250, 300),))],
    {"kettle.md": [NamedPart(0, None, "True K")]},
)


@pytest.fixture
def site(tmp_path: Path) -> AblationSite:
    settings = load_settings(None, ["embedding.model=hash://32"], {})
    encoder = HashEncoder()
    entry = EncoderEntry(
        model=encoder.name, dtype="float32", revision=encoder.revision, dim=32, max_tokens=256
    )
    made = AblationSite(str(tmp_path), settings, entry, 1, 1)
    save_set(made.open().store, ONE)
    return made


@pytest.fixture
def prepare(site: AblationSite) -> Callable[..., Variant]:
    """Prepare one variant of windows of 20/5 tokens with some factors changed."""

    def run(**changes: Any) -> Variant:
        stage = PrepareStage(site)
        task = {"key": "v", "set": ONE.fingerprint, "setting": _values(**changes)}
        [receipt] = [row for table in stage(task_table([task])) for row in task_rows(table)]
        stage.close()
        variant = site.open().load_variant("v")
        assert receipt == {"key": "v", "num_chunks": len(variant.texts)}
        return variant

    return run


def _values(**changes: Any) -> dict[str, Any]:
    sizes = {"chunk_size_tokens": 20, "overlap_tokens": 5}
    setting = checked_setting({**product_setting(Settings()), **sizes, **changes}, "test")
    return setting.variant.model_dump(mode="json")


def test_chunks_are_the_documents_own_text(prepare: Callable[..., Variant]) -> None:
    variant = prepare()
    for row, doc_id in enumerate(variant.doc_ids):
        text = ONE.documents[doc_id]
        assert text[variant.char_starts[row] : variant.char_ends[row]] == variant.texts[row]
    assert variant.doc_ids == sorted(variant.doc_ids)
    assert variant.models[0] == "Orbis K-101"


def test_without_an_annotator_there_is_no_prefix(prepare: Callable[..., Variant]) -> None:
    assert not any(prepare(annotator="none").prefixes)


def test_true_names_stand_in_front(prepare: Callable[..., Variant]) -> None:
    variant = prepare(annotator="true_name")
    prefixes = {doc_id: set() for doc_id in ONE.documents}
    for doc_id, prefix in zip(variant.doc_ids, variant.prefixes, strict=True):
        prefixes[doc_id].add(prefix)
    assert prefixes == {"kettle.md": {"True K"}, "lamp.md": {""}}


def test_without_continuity_a_chunk_knows_what_it_says(prepare: Callable[..., Variant]) -> None:
    alone = prepare(continuity=False, document_fallback=False)
    kettles = [model for doc, model in zip(alone.doc_ids, alone.models, strict=True) if "k" in doc]
    assert alone.models[0] == "Orbis K-101"
    assert kettles.count("Orbis K-101") < len(kettles)
    helped = prepare(continuity=False, document_fallback=True)
    assert helped.models[: len(kettles)] == ["Orbis K-101"] * len(kettles)


@pytest.mark.parametrize("chunker", ["sentences", "headings", "cosine"])
def test_other_chunkers_cut_too(prepare: Callable[..., Variant], chunker: str) -> None:
    variant = prepare(chunker=chunker)
    assert len(variant.texts) > 2
    assert variant.texts != prepare().texts


def test_a_text_that_is_too_long_has_the_mean_direction_of_its_windows() -> None:
    encoder = HashEncoder()
    long = "pump " * 300 + "valve " * 300
    vectors = embed_texts(encoder, ["pump", long, "valve"])
    np.testing.assert_array_equal(vectors[[0, 2]], encoder.encode(["pump", "valve"]))
    windows = text_windows(long, encoder.max_tokens, encoder.tokenizer)
    assert len(windows) > 2
    mean = encoder.encode(windows).mean(axis=0)
    np.testing.assert_allclose(vectors[1], mean / np.linalg.norm(mean), atol=1e-6)


def test_an_encoder_with_other_weights_is_refused(site: AblationSite) -> None:
    entry = site.encoder.model_copy(update={"revision": "0" * 64})
    other = replace(site, encoder=entry)
    with pytest.raises(EncoderError, match="has other weights than the one that the run was"):
        EmbedTextsStage(other)
    task = {"key": "v", "set": ONE.fingerprint, "setting": _values(chunker="cosine")}
    with pytest.raises(EncoderError, match="has other weights than the one that the run was"):
        list(PrepareStage(other)(task_table([task])))


def test_cells_are_measured_over_what_was_prepared_and_embedded(
    site: AblationSite, prepare: Callable[..., Variant]
) -> None:
    variant, pieces = prepare(), site.open()
    tasks = [
        {"texts": variant.embedding_texts, "is_question": False},
        {"texts": [query.query for query in ONE.queries], "is_question": True},
    ]
    embed = EmbedTextsStage(site)
    counts = [row["num_texts"] for table in embed(task_table(tasks)) for row in task_rows(table)]
    assert counts == [len(variant.texts), 1]
    assert text_key(variant.embedding_texts[0]) in pieces.embedded()
    cell = {
        "key": "c",
        "setting": {**product_setting(Settings()), **_values(), "selector": "merge"},
    }
    task = {"set": ONE.fingerprint, "variant": "v", "cells": [cell]}
    list(MeasureStage(site)(task_table([task])))
    measured = pieces.load_cell("c")
    assert measured["query_ids"] == ["q"]
    assert measured["values"]["evidence_recall"] == [1.0]
    assert measured["signature_accuracy"] == 0.0  # the true name is not in the text
