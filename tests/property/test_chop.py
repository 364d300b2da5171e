"""CHOP over random decisions, signatures, tokenizers and JSON."""

import asyncio
import json
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.chop.annotate import annotate_document, fold, span_starts
from scp_ray.chop.parsing import MAX_FIELD_CHARACTERS, MAX_NOUNS, parse_cnm
from scp_ray.chop.prefix import render_prefix
from scp_ray.errors import AnnotationError
from scp_ray.protocols import Int64Array
from scp_ray.records import ChunkAnnotation, Cnm
from scp_ray.testing import ScriptedDecider, ScriptedExtractor

words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
fields = st.none() | st.lists(words, min_size=1, max_size=6).map(" ".join)
cnms = st.builds(
    Cnm,
    category=fields,
    nouns=st.lists(fields.filter(bool), max_size=2).map(tuple),
    model=fields,
)
decision_lists = st.lists(st.booleans(), max_size=12)
few_cnms = st.builds(
    Cnm,
    category=st.sampled_from([None, "kettle", "toaster"]),
    nouns=st.sampled_from([(), ("lid",), ("lid", "base")]),
    model=st.sampled_from([None, "Ostra K1", "Ostra T2"]),
)


class PieceTokenizer:
    """Cuts words into pieces of some length; a line break may be a token too."""

    def __init__(self, piece: int, has_breaks: bool) -> None:
        self._pattern = re.compile(rf"\S{{1,{piece}}}|\n" if has_breaks else rf"\S{{1,{piece}}}")

    def token_offsets(self, text: str) -> Int64Array:
        offsets = [match.span() for match in self._pattern.finditer(text)]
        return np.array(offsets, dtype=np.int64).reshape(-1, 2)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self.token_offsets(text)) for text in texts]


tokenizers = st.builds(PieceTokenizer, st.integers(1, 9), st.booleans())


@given(decision_lists, st.data(), st.booleans())
def test_the_fold_inherits_on_true_and_starts_anew_on_false(
    decisions: list[bool], data: st.DataObject, document_fallback: bool
) -> None:
    by_start = {start: data.draw(few_cnms) for start in span_starts(decisions)}
    annotations = fold(decisions, by_start, document_fallback=document_fallback)
    assert len(annotations) == len(decisions) + 1
    assert annotations[0].starts_span
    assert annotations[0].cnm == by_start[0]
    for before, after, continues in zip(annotations, annotations[1:], decisions, strict=False):
        assert after.starts_span is not continues
        if continues:
            assert after.cnm == before.cnm


@given(decision_lists, st.data())
def test_without_the_fallback_every_span_has_its_own_cnm(
    decisions: list[bool], data: st.DataObject
) -> None:
    by_start = {start: data.draw(few_cnms) for start in span_starts(decisions)}
    annotations = fold(decisions, by_start, document_fallback=False)
    assert {start: annotations[start].cnm for start in by_start} == by_start


@given(decision_lists, st.data())
def test_the_fallback_only_fills_what_is_missing(
    decisions: list[bool], data: st.DataObject
) -> None:
    by_start = {start: data.draw(few_cnms) for start in span_starts(decisions)}
    annotations = fold(decisions, by_start, document_fallback=True)
    for start, own in by_start.items():
        filled = annotations[start].cnm
        assert filled.nouns == own.nouns
        assert filled.model == (own.model or by_start[0].model)
        assert filled.category in {own.category, by_start[0].category}
        assert own.category is None or filled.category == own.category


@given(decision_lists, st.data(), st.booleans(), st.integers(1, 20), st.integers(0))
def test_asking_ahead_with_answers_in_any_order_changes_nothing(
    decisions: list[bool],
    data: st.DataObject,
    document_fallback: bool,
    lookahead: int,
    seed: int,
) -> None:
    chunks = [str(index) for index in range(len(decisions) + 1)]
    cnm_of = {chunk: data.draw(few_cnms) for chunk in chunks}
    answers = dict(zip(pairwise(chunks), decisions, strict=True))

    def annotate(lookahead: int, seed: int | None) -> tuple[list[ChunkAnnotation], list[str]]:
        extractor = ScriptedExtractor(cnm_of, seed=seed)
        decider = ScriptedDecider(answers, seed=seed)
        work = annotate_document(
            chunks,
            extractor,
            decider,
            lookahead=lookahead,
            document_fallback=document_fallback,
        )
        return asyncio.run(work), sorted(extractor.calls)

    assert annotate(lookahead, seed) == annotate(1, None)


@given(cnms, tokenizers, st.integers(0, 60))
def test_a_prefix_is_never_over_its_budget(
    cnm: Cnm, tokenizer: PieceTokenizer, budget_tokens: int
) -> None:
    prefix = render_prefix(cnm, tokenizer, budget_tokens)
    if prefix:
        assert tokenizer.count_tokens([f"{prefix}\n"])[0] <= budget_tokens
    assert prefix == render_prefix(cnm, tokenizer, budget_tokens)


@given(cnms, tokenizers, st.integers(0, 60))
def test_a_larger_budget_never_shortens_a_prefix(
    cnm: Cnm, tokenizer: PieceTokenizer, budget_tokens: int
) -> None:
    small = render_prefix(cnm, tokenizer, budget_tokens)
    large = render_prefix(cnm, tokenizer, budget_tokens + 7)
    assert large.startswith(small)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["category", "nouns", "model", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def parsed_or_none(text: str) -> Cnm | None:
    try:
        return parse_cnm(text)
    except AnnotationError:
        return None


@given(st.text(max_size=200) | json_values.map(json.dumps))
def test_parsing_gives_a_bounded_cnm_or_an_annotation_error(text: str) -> None:
    cnm = parsed_or_none(text)
    if cnm is not None:
        found = [one for one in (cnm.category, *cnm.nouns, cnm.model) if one is not None]
        assert len(cnm.nouns) <= MAX_NOUNS
        assert all(0 < len(one) <= MAX_FIELD_CHARACTERS for one in found)
        assert all(one == " ".join(one.split()) for one in found)
        "".join(found).encode()  # can be stored


near_cnms = st.fixed_dictionaries(
    {"category": json_values, "nouns": json_values, "model": json_values}
).map(json.dumps)


@given(near_cnms)
def test_parsing_survives_any_values_under_the_right_keys(text: str) -> None:
    cnm = parsed_or_none(text)
    assert cnm is None or len(cnm.nouns) <= MAX_NOUNS


@given(cnms)
def test_a_clean_cnm_survives_a_round_trip(cnm: Cnm) -> None:
    fields_of = {"category": cnm.category, "nouns": list(cnm.nouns), "model": cnm.model}
    parsed = parse_cnm(json.dumps(fields_of))
    again = {"category": parsed.category, "nouns": list(parsed.nouns), "model": parsed.model}
    assert parse_cnm(json.dumps(again)) == parsed
