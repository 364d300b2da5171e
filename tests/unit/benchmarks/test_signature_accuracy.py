"""Share of the chunks whose CNM names the right device, on a small made-up index."""

import json
from pathlib import Path

import pytest

from benchmarks.signature_accuracy import (
    Stretch,
    main,
    measure,
    names_device,
    part_at_start,
    part_of_majority,
    read_parts,
    read_signatures,
)
from scp_ray.config import load_settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus

HEATER = """# Tarn Heat 40

## About this manual

This manual is for the owner of the heater. Keep it with the heater.

## Safety

Keep the heater away from curtains. Pull the plug before you clean the heater.

## Thermostat

The thermostat switches the heater off when the room is warm enough.

"""
BICYCLE = """# Velo Trek 7

## Before you begin

Inflate both tyres and check the brakes of the bicycle before riding.

## Battery

Charge the battery with the supplied charger for six hours before riding.

## Chain

Grease the chain of the bicycle after each ride in rain, then wipe it dry.
"""
MODELS = ("Tarn Heat 40", "Velo Trek 7")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """One document that is two manuals, one after the other."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "both.md").write_text(HEATER + BICYCLE)
    assignments = ["embedding.model=hash://32", "chunking.chunk_size_tokens=16"]
    assignments += ["chunking.overlap_tokens=4", "index.num_shards=1"]
    settings = load_settings(None, assignments, {})
    request = IndexRequest(str(corpus), str(tmp_path / "index"), settings)
    index_corpus(request, InProcessExecutor(), lambda _line: None)
    return tmp_path / "index"


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """The characters of each manual."""
    starts, ends = (0, len(HEATER)), (len(HEATER), len(HEATER + BICYCLE))
    rows = [
        {"doc_id": "both.md", "char_start": start, "char_end": end, "model": model}
        for start, end, model in zip(starts, ends, MODELS, strict=True)
    ]
    path = tmp_path / "parts.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_an_index_of_two_manuals_names_both(index: Path, parts: Path) -> None:
    chunks = read_signatures(index)
    accuracy = measure(chunks, read_parts(parts), part_of_majority)
    assert accuracy.share == 1.0
    assert accuracy.num_chunks == len(chunks) > 8
    assert {chunk.model for _, chunk in chunks} == set(MODELS)


def test_misses_are_listed_with_what_was_expected_and_found(
    index: Path, parts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(parts.read_text().replace("Velo Trek 7", "Velo Trek 70"))
    assert main([str(index), str(wrong)]) == 0
    by_start, _, by_majority = capsys.readouterr().out.partition("by majority: 0.")
    misses = by_majority.splitlines()[1:]
    named = [number for number, chunk in read_signatures(index) if chunk.model == "Velo Trek 7"]
    assert by_start.startswith("by start: 0.")
    assert misses == [
        f"  both.md chunk {number}: expected Velo Trek 70, is Velo Trek 7" for number in named
    ]


def chunk(start: int, end: int, model: str | None = None) -> Stretch:
    return Stretch("a", start, end, model)


PARTS = [chunk(0, 100, "K-1"), chunk(100, 200, "K-2")]


@pytest.mark.parametrize(
    ("start", "end", "at_start", "majority"),
    [
        (80, 110, "K-1", "K-1"),
        (95, 140, "K-1", "K-2"),
        (90, 110, "K-1", "K-1"),
        (199, 250, "K-2", "K-2"),
        (200, 250, None, None),
    ],
)
def test_a_chunk_belongs_to_a_part_by_its_start_or_by_most_of_it(
    start: int, end: int, at_start: str | None, majority: str | None
) -> None:
    found = [part_of(chunk(start, end), PARTS) for part_of in (part_at_start, part_of_majority)]
    assert [part and part.model for part in found] == [at_start, majority]


def test_parts_of_other_documents_do_not_count() -> None:
    other = [(0, Stretch("b", 0, 50, "K-1"))]
    accuracy = measure(other, PARTS, part_at_start)
    assert (accuracy.num_chunks, accuracy.share) == (0, 1.0)


@pytest.mark.parametrize(
    ("found", "is_named"),
    [
        ("Galaxy 10", True),
        ("ACME galaxy 10", True),
        ("Galaxy 10+", False),
        ("Galaxy 10 Pro", False),
        ("10", False),
        (None, False),
    ],
)
def test_a_name_must_end_with_the_device(found: str | None, *, is_named: bool) -> None:
    assert names_device(found, "Galaxy 10") is is_named
