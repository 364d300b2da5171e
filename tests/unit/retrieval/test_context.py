"""Context assembly, on texts small enough to see."""

import string
from collections.abc import Sequence

import pytest

from scp_ray.retrieval.context import (
    Context,
    ContextHit,
    Passage,
    SkippedHit,
    SkipReason,
    assemble_context,
)

TEXT = string.ascii_lowercase


def hit(
    doc_id: str, index: int, start: int, end: int, score: float = 1.0, text: str | None = None
) -> ContextHit:
    """A hit of a document that holds the alphabet."""
    return ContextHit(doc_id, index, start, end, TEXT[start:end] if text is None else text, score)


def count_characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def count_halves(texts: Sequence[str]) -> list[int]:
    """A token for every two characters begun, so two odd texts joined have one token less."""
    return [(len(text) + 1) // 2 for text in texts]


def assemble(*hits: ContextHit, max_tokens: int = 26) -> Context:
    return assemble_context(hits, max_tokens=max_tokens, count_tokens=count_characters)


def texts(context: Context) -> list[tuple[str, str]]:
    return [(passage.doc_id, passage.text) for passage in context.passages]


def skipped(context: Context) -> list[tuple[str, int]]:
    return [(skip.doc_id, skip.chunk_index) for skip in context.skipped]


def test_overlapping_hits_become_one_passage_with_all_citations() -> None:
    context = assemble(hit("d", 1, 5, 12, 0.9), hit("d", 0, 0, 7, 0.8))
    assert context == Context(12, (Passage("d", 0, 12, "abcdefghijkl", (0, 1), 0.9),), ())


def test_touching_hits_become_one_passage() -> None:
    assert texts(assemble(hit("d", 0, 0, 5), hit("d", 1, 5, 9))) == [("d", "abcdefghi")]
    assert texts(assemble(hit("d", 1, 5, 9), hit("d", 0, 0, 5))) == [("d", "abcdefghi")]


def test_one_character_between_keeps_passages_apart() -> None:
    assert texts(assemble(hit("d", 0, 0, 5), hit("d", 1, 6, 9))) == [("d", "abcde"), ("d", "ghi")]


@pytest.mark.parametrize(("start", "end"), [(4, 10), (3, 11), (5, 10), (0, 26)])
def test_hit_between_two_passages_joins_them(start: int, end: int) -> None:
    parts = [hit("d", 2, 10, 14, 0.9), hit("d", 0, 0, 5, 0.8)]
    context = assemble(*parts, hit("d", 1, start, end, 0.7))
    expected = TEXT[: max(end, 14)]
    assert context.passages == (Passage("d", 0, len(expected), expected, (0, 1, 2), 0.9),)
    assert context.tokens == len(expected)


def test_hit_over_many_passages_leaves_the_rest_alone() -> None:
    parts = [hit("d", index, 4 * index, 4 * index + 2) for index in range(5)]
    context = assemble(*parts, hit("d", 9, 5, 14))
    assert texts(context) == [("d", "ab"), ("d", "efghijklmn"), ("d", "qr")]
    assert [passage.chunk_indexes for passage in context.passages] == [(0,), (1, 2, 3, 9), (4,)]


def test_same_offsets_in_another_document_are_other_text() -> None:
    context = assemble(hit("a", 0, 0, 5), hit("b", 0, 0, 5), hit("b", 1, 3, 7))
    assert texts(context) == [("a", "abcde"), ("b", "abcdefg")]
    assert context.tokens == 12


def test_only_new_text_counts() -> None:
    context = assemble(hit("d", 0, 0, 6), hit("d", 1, 3, 9), max_tokens=9)
    assert (context.tokens, texts(context)) == (9, [("d", "abcdefghi")])


def test_hit_that_does_not_fit_is_skipped_and_the_next_are_tried() -> None:
    context = assemble(hit("d", 0, 0, 6), hit("d", 3, 10, 15), hit("e", 0, 0, 4), max_tokens=10)
    assert texts(context) == [("d", "abcdef"), ("e", "abcd")]
    assert context.skipped == (SkippedHit("d", 3, SkipReason.DOES_NOT_FIT),)
    assert [skip.reason for skip in context.skipped] == ["does_not_fit"]


def test_hit_is_never_cut_to_fit() -> None:
    context = assemble(hit("d", 0, 0, 6), hit("d", 1, 3, 10), max_tokens=9)
    assert (texts(context), skipped(context)) == ([("d", "abcdef")], [("d", 1)])


def test_text_inside_what_is_taken_is_cited_with_the_budget_spent() -> None:
    context = assemble(hit("d", 2, 4, 10), hit("d", 3, 5, 9), hit("d", 1, 4, 10), max_tokens=6)
    assert context == Context(6, (Passage("d", 4, 10, "efghij", (1, 2, 3), 1.0),), ())


def test_text_inside_what_is_taken_is_not_counted_again() -> None:
    counted: list[str] = []

    def count_tokens(texts: Sequence[str]) -> list[int]:
        counted.extend(texts)
        return count_characters(texts)

    hits = [hit("d", 2, 4, 10), hit("d", 3, 5, 9), hit("d", 4, 8, 12)]
    assemble_context(hits, max_tokens=26, count_tokens=count_tokens)
    assert counted == ["efghij", "efghijkl"]


def test_tokens_are_those_of_the_joined_text() -> None:
    parts = [hit("d", 0, 0, 3), hit("d", 1, 3, 6)]
    context = assemble_context(parts, max_tokens=3, count_tokens=count_halves)  # 2 and 2 apart
    assert (context.tokens, texts(context)) == (3, [("d", "abcdef")])


def test_joining_makes_room_for_the_next() -> None:
    apart, between = [hit("d", 0, 0, 1), hit("d", 2, 2, 3)], hit("d", 1, 1, 2)
    context = assemble_context(
        [*apart, between, hit("d", 3, 3, 4)], max_tokens=2, count_tokens=count_halves
    )
    assert (context.tokens, texts(context)) == (2, [("d", "abcd")])


def test_skipped_hit_whose_text_came_in_with_others_is_cited() -> None:
    def count_unless_whole(texts: Sequence[str]) -> list[int]:
        return [1 if text == "abcdef" else len(text) for text in texts]

    hits = [hit("d", 0, 0, 3, 0.9), hit("e", 1, 2, 5, 0.8), hit("d", 1, 2, 5, 0.7)]
    last = hit("d", 2, 3, 6, 0.6)
    context = assemble_context([*hits, last], max_tokens=3, count_tokens=count_unless_whole)
    assert context.passages == (Passage("d", 0, 6, "abcdef", (0, 1, 2), 0.9),)
    assert skipped(context) == [("e", 1)]


def test_documents_go_by_their_best_hit_and_passages_by_place() -> None:
    context = assemble(
        hit("z", 7, 20, 22, 0.9),
        hit("a", 1, 8, 10, 0.8),
        hit("z", 0, 0, 2, 0.7),
        hit("a", 0, 0, 2, 0.6),
    )
    assert [(passage.doc_id, passage.char_start) for passage in context.passages] == [
        ("z", 0),
        ("z", 20),
        ("a", 0),
        ("a", 8),
    ]
    assert [passage.score for passage in context.passages] == [0.7, 0.9, 0.6, 0.8]


def test_document_of_which_nothing_fits_has_no_place() -> None:
    context = assemble(hit("z", 0, 0, 9), hit("a", 0, 0, 3), hit("z", 1, 9, 11), max_tokens=5)
    assert (texts(context), skipped(context)) == ([("a", "abc"), ("z", "jk")], [("z", 0)])


def test_where_hits_disagree_the_first_is_believed() -> None:
    context = assemble(
        hit("d", 1, 3, 6, text="DEF"), hit("d", 3, 9, 12, text="JKL"), hit("d", 2, 0, 14)
    )
    assert texts(context) == [("d", "abcDEFghiJKLmn")]


def test_offsets_count_code_points() -> None:
    context = assemble(hit("d", 0, 0, 3, text="a𝔘é"), hit("d", 1, 2, 4, text="é😀"))
    assert (texts(context), context.passages[0].char_end) == ([("d", "a𝔘é😀")], 4)


def test_nothing_comes_of_nothing() -> None:
    assert assemble() == Context(0, (), ())


def test_budget_smaller_than_any_hit() -> None:
    context = assemble(hit("d", 0, 0, 5), hit("e", 2, 0, 3), max_tokens=2)
    assert (context.tokens, context.passages) == (0, ())
    assert skipped(context) == [("d", 0), ("e", 2)]
    assert skipped(assemble(hit("d", 0, 0, 1), max_tokens=0)) == [("d", 0)]


@pytest.mark.parametrize(("start", "end", "text"), [(0, 3, "ab"), (0, 1, "ab"), (2, 2, "")])
def test_text_of_another_length_than_its_offsets_is_refused(
    start: int, end: int, text: str
) -> None:
    message = f"chunk 4 of document 'd' has {len(text)} characters at offsets {start} to {end}"
    with pytest.raises(ValueError, match=message):
        assemble(hit("d", 4, start, end, text=text))
