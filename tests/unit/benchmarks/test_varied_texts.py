"""Texts made from the texts of a corpus."""

from benchmarks.varied_texts import EXCHANGED, NEW, varied_texts

TEXTS = ["the lamp  is on\nthe table", " ".join(f"word{number}" for number in range(400))]


def test_the_texts_themselves_come_first() -> None:
    assert list(varied_texts(TEXTS, 1, 0)) == TEXTS[:1]
    assert list(varied_texts(TEXTS, 5, 0))[:2] == TEXTS


def test_the_seed_decides() -> None:
    assert list(varied_texts(TEXTS, 40, 1)) == list(varied_texts(TEXTS, 40, 1))
    assert list(varied_texts(TEXTS, 40, 1)) != list(varied_texts(TEXTS, 40, 2))


def test_copies_keep_most_words_and_get_some_of_the_corpus_and_few_new_ones() -> None:
    known = {word for text in TEXTS for word in text.split()}
    copies = list(varied_texts(TEXTS, 100, 0))[3::2]
    words = [copy.split() for copy in copies]
    original = TEXTS[1].split()
    kept = sum(a == b for copy in words for a, b in zip(copy, original, strict=True))
    new = sum(word not in known for copy in words for word in copy)
    total = len(copies) * len(original)
    assert abs(kept / total - (1 - EXCHANGED - NEW)) < 0.01
    assert abs(new / total - NEW) < 0.002
    assert len(set(copies)) == len(copies)
