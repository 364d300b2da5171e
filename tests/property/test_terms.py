"""Terms: both sides meet however a code is written, and the output is bounded."""

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scp_ray.records import Stemmer
from scp_ray.retrieval.terms import MAX_TERM_CHARACTERS, terms_of

LETTERS_AND_SIGNS = (
    "aAeEsStTz059٣²éßﬁİŉςΣдД हिक्"
    "東京タワーｶﾞかがニทีน้ຄិက一年한"
    "--‐‑–__..+++'’ʼ/@,:()[]\"… \t\n\u00a0"
    "\u0301\u0316\u3099\uff9e\u0345\u034f\u00ad\u200b\u200d\ufe0f\u20e3👍❤™"
)
texts = (
    st.text(st.sampled_from(LETTERS_AND_SIGNS), max_size=40)
    | st.text(max_size=40)
    | st.text(st.characters(max_codepoint=127), max_size=40)
)
stemmers = st.sampled_from(Stemmer)
codes = st.lists(st.text("ABSxes0123456789", min_size=1, max_size=6), min_size=2, max_size=4)
HYPHENS = "-_‐‑‒–−－"


def folded(text: str) -> str:
    """Fold as the standard has it, without dropping anything."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def is_letter_or_digit(character: str) -> bool:
    """Or one that this Python is too old to know."""
    return character.isalnum() or unicodedata.category(character) == "Cn"


@given(text=texts, stemmer=stemmers)
def test_output_is_bounded_and_well_formed(text: str, stemmer: Stemmer) -> None:
    terms = terms_of(text, stemmer)
    length = len(folded(text))
    assert len(terms) <= length
    assert sum(map(len, terms)) <= 3 * length
    for term in terms:
        assert 0 < len(term) <= MAX_TERM_CHARACTERS
        assert any(is_letter_or_digit(character) for character in term)
        assert not term.startswith((".", "+"))
        assert not set("-_/@'’ ") & set(term)


@given(unit=st.text(st.sampled_from(LETTERS_AND_SIGNS), min_size=1, max_size=6), stemmer=stemmers)
def test_output_is_linear_in_a_repeated_unit(unit: str, stemmer: Stemmer) -> None:
    terms = terms_of(unit * 2_000, stemmer)
    assert len(terms) <= 2_000 * len(folded(unit))
    assert sum(map(len, terms)) <= 3 * 2_000 * len(folded(unit))


@given(first=texts, second=texts, stemmer=stemmers)
def test_white_space_always_separates(first: str, second: str, stemmer: Stemmer) -> None:
    both = terms_of(f"{first} {second}", stemmer)
    assert both == terms_of(first, stemmer) + terms_of(second, stemmer)
    assert both == [
        term for word in f"{first} {second}".split() for term in terms_of(word, stemmer)
    ]


@given(text=texts, stemmer=stemmers)
def test_short_tokens_are_treated_as_long_ones(text: str, stemmer: Stemmer) -> None:
    """Only short ones are remembered, and a plain short one takes a shortcut."""
    padding = "/" * MAX_TERM_CHARACTERS
    apart = [terms_of(f"{padding}{word}{padding}東", stemmer) for word in text.split()]
    assert terms_of(text, stemmer) == [term for terms in apart for term in terms[:-1]]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@given(text=texts, stemmer=stemmers)
def test_equivalent_texts_give_equal_terms(form: str, text: str, stemmer: Stemmer) -> None:
    assume(form in {"NFC", "NFD"} or not set("™℠") & set(text))
    normal = unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert terms_of(normal, stemmer) == terms_of(text, stemmer)


@given(text=texts, stemmer=stemmers)
def test_case_makes_no_difference(text: str, stemmer: Stemmer) -> None:
    assume("\u0345" not in unicodedata.normalize("NFD", text))  # a mark whose capital is a letter
    assert terms_of(text.casefold(), stemmer) == terms_of(text, stemmer)
    assume("ı" not in text)  # its upper case is I, whose lower case is i
    assert terms_of(text.upper(), stemmer) == terms_of(text, stemmer)


@given(text=texts, stemmer=stemmers)
def test_a_term_asked_for_is_found(text: str, stemmer: Stemmer) -> None:
    for term in terms_of(text, stemmer):
        if len(term) < MAX_TERM_CHARACTERS:
            assert term in terms_of(term, stemmer)


@given(parts=codes, stemmer=stemmers, data=st.data())
def test_a_code_is_found_however_it_is_written(
    parts: list[str], stemmer: Stemmer, data: st.DataObject
) -> None:
    written = data.draw(st.sampled_from(HYPHENS)).join(parts)
    document = set(terms_of(f"The {written}, or", stemmer))
    other_hyphen = data.draw(st.sampled_from(HYPHENS)).join(parts)
    for question in [other_hyphen, "".join(parts), " ".join(parts), *parts]:
        for same in (question, question.lower(), question.upper()):
            assert set(terms_of(same, stemmer)) <= document
    assert set(terms_of("".join(parts), stemmer)) & document


@given(major=st.integers(0, 999), minor=st.integers(0, 999), stemmer=stemmers)
def test_a_decimal_number_is_not_its_digits(major: int, minor: int, stemmer: Stemmer) -> None:
    terms = terms_of(f"({major}.{minor}).", stemmer)
    assert terms == [str(major), str(minor), f"{major}.{minor}"]


@given(text=st.text(st.sampled_from("東京タワーかคน年"), min_size=1, max_size=30), data=st.data())
def test_a_part_of_unspaced_text_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    document = terms_of(text, Stemmer.LIGHT)
    question = terms_of(text[start:end], Stemmer.LIGHT)
    assert len(question) == max(1, end - start - 1)
    assert end - start == 1 or set(question) <= set(document)


@given(word=st.from_regex(r"[a-z]{1,12}", fullmatch=True))
def test_stemming_twice_is_stemming_once(word: str) -> None:
    (stem,) = terms_of(word, Stemmer.LIGHT)
    assert terms_of(stem, Stemmer.LIGHT) == [stem]
    assert len(stem) <= len(word)
    assert stem[:-1] == word[: len(stem) - 1]
