"""Context assembly against a reference that keeps the set of taken characters."""

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.retrieval.context import (
    Context,
    ContextHit,
    Passage,
    SkippedHit,
    SkipReason,
    assemble_context,
)

Counter = Callable[[str], int]

LONGEST = 60
DOCUMENTS = {
    "a": "ab cde  fgh ij. klmno pqrs\nt uv wxyz ABCDEFGHIJ KL MNO, PQR (STU) VW",
    "b": "0123 45 6789 0a1b2c3d4e5f6 7 8 9\n\nnext part: one two three four five",
    "c": "ß-日本語のテキスト 😀😀 ééé naïve – em dash… tail of the text, longer than needed",
}


def count_word_pieces(text: str) -> int:
    """Every four characters of a word begun, and every other mark, as a word-piece model would."""
    words = re.findall(r"\w+|[^\w\s]", text)
    return sum((len(word) + 3) // 4 for word in words)


def count_anyhow(text: str) -> int:
    """A function of the text and nothing else: joining may cost anything, or give back."""
    return zlib.crc32(text.encode()) % 9


COUNTERS: dict[str, Counter] = {
    "characters": len,
    "words": lambda text: len(text.split()),
    "word pieces": count_word_pieces,
    "anyhow": count_anyhow,
}


@st.composite
def rankings(draw: st.DrawFn) -> list[ContextHit]:
    """Hits of up to three documents, in any order of place, with many equal scores."""
    keys = draw(
        st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=14, unique=True)
    )
    scores = sorted(
        draw(st.lists(st.sampled_from([0.1, 0.4, 0.5]), min_size=len(keys), max_size=len(keys)))
    )
    hits = []
    for (doc_id, chunk_index), score in zip(keys, reversed(scores), strict=True):
        start = draw(st.integers(0, LONGEST - 1))
        end = start + draw(st.integers(1, min(20, LONGEST - start)))
        text = DOCUMENTS[doc_id][start:end]
        hits.append(ContextHit(doc_id, chunk_index, start, end, text, score))
    return hits


@st.composite
def windows(draw: st.DrawFn) -> list[ContextHit]:
    """Hits as an index has them: windows of one size and overlap, some of them, in any order."""
    size = draw(st.integers(2, 12))
    step = draw(st.integers(1, size))
    every = [
        ContextHit(doc_id, index, start, start + size, text[start : start + size], 0.5)
        for doc_id, text in DOCUMENTS.items()
        for index, start in enumerate(range(0, LONGEST - size, step))
    ]
    return draw(st.lists(st.sampled_from(every), max_size=20, unique=True))


hit_lists = rankings() | windows()
budgets = st.integers(0, 80)
each_counter = pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)


def assemble(hits: Sequence[ContextHit], max_tokens: int, counter: Counter) -> Context:
    return assemble_context(
        hits, max_tokens=max_tokens, count_tokens=lambda texts: [counter(text) for text in texts]
    )


@dataclass
class Reference:
    """The rule in its slowest form."""

    counter: Counter
    characters: set[tuple[str, int]] = field(default_factory=set)

    def runs(self) -> list[tuple[str, int, int]]:
        runs: list[tuple[str, int, int]] = []
        for doc_id, place in sorted(self.characters):
            if (doc_id, place - 1) in self.characters:
                runs[-1] = (doc_id, runs[-1][1], place + 1)
            else:
                runs.append((doc_id, place, place + 1))
        return runs

    def tokens(self) -> int:
        return sum(self.counter(DOCUMENTS[doc][start:end]) for doc, start, end in self.runs())

    def assemble(self, hits: Sequence[ContextHit], max_tokens: int) -> Context:
        for hit in hits:
            before = set(self.characters)
            self.characters |= characters_of(hit)
            if self.tokens() > max_tokens:
                self.characters = before
        cited = [hit for hit in hits if characters_of(hit) <= self.characters]
        passages = [self._passage(run, cited) for run in self.runs()]
        first_ranks = {hit.doc_id: rank for rank, hit in reversed(list(enumerate(cited)))}
        passages.sort(key=lambda passage: first_ranks[passage.doc_id])
        skipped = [
            SkippedHit(hit.doc_id, hit.chunk_index, SkipReason.DOES_NOT_FIT)
            for hit in hits
            if hit not in cited
        ]
        return Context(self.tokens(), tuple(passages), tuple(skipped))

    def _passage(self, run: tuple[str, int, int], cited: Sequence[ContextHit]) -> Passage:
        doc_id, start, end = run
        places = {(doc_id, place) for place in range(start, end)}
        inside = [hit for hit in cited if characters_of(hit) <= places]
        indexes = sorted(hit.chunk_index for hit in inside)
        best = max(hit.score for hit in inside)
        return Passage(doc_id, start, end, DOCUMENTS[doc_id][start:end], tuple(indexes), best)


def characters_of(span: ContextHit | Passage) -> set[tuple[str, int]]:
    return {(span.doc_id, place) for place in range(span.char_start, span.char_end)}


@each_counter
@given(hits=hit_lists, max_tokens=budgets)
def test_context_is_that_of_the_reference(
    counter: Counter, hits: list[ContextHit], max_tokens: int
) -> None:
    assert assemble(hits, max_tokens, counter) == Reference(counter).assemble(hits, max_tokens)


@each_counter
@given(hits=hit_lists, max_tokens=budgets)
def test_tokens_of_the_passages_never_exceed_the_budget(
    counter: Counter, hits: list[ContextHit], max_tokens: int
) -> None:
    context = assemble(hits, max_tokens, counter)
    assert sum(counter(passage.text) for passage in context.passages) == context.tokens
    assert context.tokens <= max_tokens


@each_counter
@given(hits=hit_lists, max_tokens=budgets)
def test_passages_are_the_text_of_their_documents_and_lie_apart(
    counter: Counter, hits: list[ContextHit], max_tokens: int
) -> None:
    passages = assemble(hits, max_tokens, counter).passages
    for passage in passages:
        assert passage.text == DOCUMENTS[passage.doc_id][passage.char_start : passage.char_end]
    for one in passages:
        for other in passages:
            if one is not other and one.doc_id == other.doc_id:
                assert one.char_end < other.char_start or other.char_end < one.char_start


@each_counter
@given(hits=hit_lists, max_tokens=budgets)
def test_every_hit_is_cited_or_skipped_by_whether_its_text_is_there(
    counter: Counter, hits: list[ContextHit], max_tokens: int
) -> None:
    context = assemble(hits, max_tokens, counter)
    cited = [(p.doc_id, index) for p in context.passages for index in p.chunk_indexes]
    skipped = [(skip.doc_id, skip.chunk_index) for skip in context.skipped]
    keys = [(hit.doc_id, hit.chunk_index) for hit in hits]
    assert sorted([*cited, *skipped]) == sorted(keys)
    assert skipped == [key for key in keys if key in skipped]  # in rank order
    there = set().union(*(characters_of(passage) for passage in context.passages))
    for hit, key in zip(hits, keys, strict=True):
        assert (key in cited) == (characters_of(hit) <= there)


@given(hits=hit_lists, max_tokens=budgets)
def test_what_was_skipped_does_not_fit_where_tokens_only_grow(
    hits: list[ContextHit], max_tokens: int
) -> None:
    context = assemble(hits, max_tokens, len)
    skipped = {(skip.doc_id, skip.chunk_index) for skip in context.skipped}
    there = set().union(*(characters_of(passage) for passage in context.passages))
    for hit in hits:
        if (hit.doc_id, hit.chunk_index) in skipped:
            assert len(there | characters_of(hit)) > max_tokens


@given(hits=hit_lists)
def test_with_room_for_all_nothing_is_skipped(hits: list[ContextHit]) -> None:
    union = set().union(*(characters_of(hit) for hit in hits))
    context = assemble(hits, len(union), len)
    assert (context.tokens, context.skipped) == (len(union), ())


@given(hits=hit_lists, max_tokens=budgets)
def test_tokenizer_sees_one_text_a_hit_and_no_longer_than_the_budget_and_the_hit(
    hits: list[ContextHit], max_tokens: int
) -> None:
    calls: list[list[str]] = []

    def count_tokens(texts: Sequence[str]) -> list[int]:
        calls.append(list(texts))
        return [len(text) for text in texts]

    assemble_context(hits, max_tokens=max_tokens, count_tokens=count_tokens)
    assert len(calls) <= len(hits)
    longest_hit = max((len(hit.text) for hit in hits), default=0)
    for call in calls:
        assert len(call) == 1
        assert len(call[0]) <= max_tokens + longest_hit
