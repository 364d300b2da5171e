"""The heuristic annotator over whole documents and through its ports."""

import time
from itertools import pairwise

import pytest

from scp_ray.annotators.heuristic import HeuristicAnnotator, chunk_signature
from scp_ray.chop.parsing import MAX_FIELD_CHARACTERS, MAX_NOUNS
from scp_ray.records import EMPTY_CNM, ChunkAnnotation, Cnm

PROSE = {
    "heater": "Read this manual, and pull the plug before you open the lid of the heater. ",
    "bicycle": "Inflate both tyres and grease the chain before you ride the bicycle in rain. ",
}


def manual(title: str, thing: str, headings: list[str]) -> str:
    sections = [
        f"## {heading}\n\n" + "".join(f"{heading} {n}: {PROSE[thing]}" for n in range(5))
        for heading in headings
    ]
    return "\n\n".join([title, *sections]) + "\n\n"


HEATER = manual(
    "# Tarn Heat 40 Room Heater – User Manual", "heater", ["Contents", "Safety", "Timer"]
)
BICYCLE = manual("Ostra Velo X7", "bicycle", ["Contents", "Tyres", "Chain"])


def windows(text: str, size: int = 400, overlap: int = 100) -> list[str]:
    step = size - overlap
    return [text[start : start + size] for start in range(0, max(1, len(text) - overlap), step)]


def annotate(chunks: list[str]) -> list[ChunkAnnotation]:
    return HeuristicAnnotator(document_fallback=True).annotate(chunks)


def test_every_chunk_of_a_manual_has_its_model_and_category() -> None:
    cnms = [one.cnm for one in annotate(windows(HEATER))]
    assert {(cnm.category, cnm.model) for cnm in cnms} == {("room heater", "Tarn Heat 40")}


def test_nouns_are_the_heading_of_the_section_that_most_of_the_chunk_is_in() -> None:
    annotations = annotate(windows(HEATER))
    for chunk, one in zip(windows(HEATER), annotations, strict=True):
        if "## " not in chunk:
            before = HEATER[: HEATER.index(chunk)]
            assert one.cnm.nouns == (before.rpartition("## ")[2].partition("\n")[0],)


def test_a_span_ends_where_product_or_section_change() -> None:
    annotations = annotate(windows(HEATER + BICYCLE))
    assert annotations[0].starts_span
    for before, after in pairwise(annotations):
        assert after.starts_span is (before.cnm != after.cnm)


def test_chunks_get_the_product_in_force_at_their_middle() -> None:
    text = HEATER + BICYCLE
    annotations = annotate(windows(text))
    for index, one in enumerate(annotations):
        middle = (index * 300 + min(index * 300 + 400, len(text))) // 2
        assert one.cnm.model == ("Tarn Heat 40" if middle < len(HEATER) else "Ostra Velo X7")


def test_the_first_products_category_is_not_taken_for_another_product() -> None:
    assert annotate(windows(HEATER + BICYCLE))[-1].cnm.category is None


@pytest.mark.parametrize(("size", "overlap"), [(300, 0), (250, 10), (600, 300), (900, 200)])
def test_windows_of_any_size_find_the_same_products(size: int, overlap: int) -> None:
    models = [one.cnm.model for one in annotate(windows(HEATER + BICYCLE, size, overlap))]
    assert models[0] == "Tarn Heat 40"
    assert set(models) <= {"Tarn Heat 40", "Ostra Velo X7"}
    assert models == sorted(models, reverse=True)


def test_line_ends_make_no_difference() -> None:
    text = HEATER + BICYCLE
    chunks = windows(text)
    windows_chunks = [chunk.replace("\n", "\r\n") for chunk in chunks]
    assert annotate(windows_chunks) == annotate(chunks)


def test_nouns_of_nested_sections_are_the_highest_and_the_lowest_heading() -> None:
    text = f"# Tarn Heat 40\n\n## Care\n\n### 4.1 Filter\n\n#### Washing\n\n{PROSE['heater'] * 9}"
    assert annotate([text])[0].cnm.nouns == ("Care", "Washing")


def test_numbers_of_sections_are_left_out() -> None:
    text = f"# Tarn Heat 40\n\n## 4.1 Filter\n\n{PROSE['heater'] * 9}"
    assert annotate([text])[0].cnm.nouns == ("Filter",)


def test_a_heading_that_only_repeats_the_model_is_no_noun() -> None:
    text = f"# Tarn Heat 40\n\n## TARN HEAT40\n\n{PROSE['heater'] * 9}"
    assert annotate([text])[0].cnm == Cnm(None, (), "Tarn Heat 40")


def test_a_document_that_is_no_manual_has_its_headings_only() -> None:
    text = f"# Travel policy\n\n## Booking\n\n{'Staff book by train where there is one. ' * 20}"
    assert annotate(windows(text))[-1].cnm == Cnm(None, ("Travel policy", "Booking"), None)


@pytest.mark.parametrize(
    "text",
    [
        "Good evening. My fellow citizens, we meet in hard times. " * 30,
        "昨日の夜、山の上に雪が降りました。とても静かでした。" * 30,
        "Вчера ночью в горах выпал снег, и стало очень тихо. " * 30,
        "long-term debt | 2014 | 600\nnotes due 2025 | 600 | 600\n" * 30,
        " \n" * 30,
    ],
)
def test_plain_prose_and_tables_have_no_signature(text: str) -> None:
    annotations = annotate(windows(text))
    assert {one.cnm for one in annotations} == {EMPTY_CNM}
    assert sum(one.starts_span for one in annotations) == 1


def test_no_chunks() -> None:
    assert annotate([]) == []


def test_one_extracted_chunk_counts_a_title_anywhere_in_it() -> None:
    assert chunk_signature(HEATER[:400]).model == "Tarn Heat 40"
    late = f"{PROSE['heater'] * 8}\n\n{BICYCLE}"[:900]
    assert chunk_signature(late).model == "Ostra Velo X7"
    assert chunk_signature(PROSE["heater"]) == EMPTY_CNM


@pytest.mark.parametrize(
    "text",
    [
        "# "
        + "Tarn \u202e\u0000Heat 40 " * 4
        + "\n\n## \u0007Care\u2028now\n\n"
        + PROSE["heater"] * 9,
        "# A1 " + "x" * 110 + "\n\n## " + "y" * 110 + "\n\n" + PROSE["heater"] * 9,
        "# " + "Tarn-Heat-" * 11 + "40\n\nProse.",
    ],
)
def test_fields_can_be_printed_and_stored(text: str) -> None:
    for one in annotate(windows(text)):
        found = [one.cnm.category, *one.cnm.nouns, one.cnm.model]
        assert len(one.cnm.nouns) <= MAX_NOUNS
        for field in filter(None, found):
            assert field.isprintable()
            assert len(field) <= MAX_FIELD_CHARACTERS


@pytest.mark.parametrize(
    "text",
    [
        "A1\n\n" * 10_000,
        "# A1\n" * 10_000,
        "a" * 100_000,
        "=" * 100_000,
        "[" * 100_000,
        "the a " * 20_000,
        "the " + "a-" * 50_000,
        "Tarn Heat 40\n\n## Features\n\n" * 3_000,
        "\n" * 100_000,
    ],
    ids=range(9),
)
def test_hostile_text_takes_no_more_than_linear_time(text: str) -> None:
    started = time.perf_counter()
    annotate([text])
    assert time.perf_counter() - started < 2.0
