"""The comparison of annotators, end to end with signatures that are given."""

import argparse
from pathlib import Path

import pytest

from benchmarks.chop_quality import (
    by_fallback,
    chosen_pairs,
    compare,
    fixed_systems,
    halves,
    named_folder,
    right_device,
)
from benchmarks.chunked_texts import ChunkedText, read_chunked
from benchmarks.continuity_figures import BODY, NEW_TITLE, Pair
from benchmarks.signature_accuracy import Stretch
from scp_ray.config import load_settings
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.records import Cnm

PAIRS = [Pair(index, NEW_TITLE if index in {10, 20, 40} else BODY) for index in range(60)]


def test_a_sample_has_all_boundaries_and_what_is_beside_them() -> None:
    chosen = {pair.index for pair in chosen_pairs(PAIRS, 12)}
    assert chosen >= {9, 10, 11, 19, 20, 21, 39, 40, 41}
    assert len(chosen) == 9 + 12
    assert chosen_pairs(PAIRS, 0) == PAIRS
    assert chosen_pairs(PAIRS, 1000) == PAIRS


def test_pairs_are_split_between_two_boundaries() -> None:
    tuned_on, held_out = halves(PAIRS, 2)
    assert (tuned_on[0].index, tuned_on[-1].index) == (0, 30)
    assert (held_out[0].index, held_out[-1].index) == (31, 59)


def test_a_missing_model_is_left_or_taken_from_the_document_or_from_the_span_before() -> None:
    cnms = {0: Cnm(model="K-1"), 1: Cnm(model="T2"), 3: Cnm()}
    models = {
        fallback: [annotation.cnm.model for annotation in annotations]
        for fallback, annotations in by_fallback([False, True, False], cnms).items()
    }
    assert models == {
        "off": ["K-1", "T2", "T2", None],
        "document": ["K-1", "T2", "T2", "K-1"],
        "span before": ["K-1", "T2", "T2", "T2"],
    }


def test_chunks_are_judged_by_the_device_of_their_part() -> None:
    text = ChunkedText("a", "x" * 40, ((0, 10), (8, 18), (16, 26), (24, 40)))
    parts = [Stretch("a", 0, 12, "K-1"), Stretch("a", 12, 40, "T2")]
    cnms = {0: Cnm(model="K-1"), 2: Cnm(model="T2")}
    annotations = by_fallback([True, False, True], cnms)["off"]
    assert right_device(text, annotations, parts) == {"by_start": 1.0, "by_majority": 0.75}


def test_the_true_name_finds_what_no_signature_finds(tmp_path: Path) -> None:
    names = ("Tarn", "Velo", "Ostra", "Lumo")
    for cups, _ in enumerate(names):
        (tmp_path / f"{cups}.md").write_text(f"Fill the tank with {cups} cups.\nPress the button.")
    sizes = ["chunking.chunk_size_tokens=8", "chunking.overlap_tokens=0", "index.search=exact"]
    settings = load_settings(None, ["embedding.model=hash://32", *sizes], {})
    doc_ids = [f"{cups}.md" for cups, _ in enumerate(names)]
    texts = read_chunked(tmp_path, doc_ids, settings.embedding, settings.chunking)
    queries = [
        Query(name, f"{name}: press what?", (RelevantSpan(text.doc_id, *text.spans[-1]),))
        for name, text in zip(names, texts, strict=True)
    ]
    found = compare(texts, queries, fixed_systems(texts, queries), settings)
    assert found["rows"]["true name in front"]["doc@1"] == 1.0
    assert found["rows"]["none"]["doc@1"] < 1.0
    assert found["of_true_name"]["true name in front"] == {"hit@1": 1.0, "mrr@10": 1.0}


def test_models_are_named() -> None:
    assert named_folder("small=/a=b") == ("small", "/a=b")
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=FOLDER"):
        named_folder("/folder")
