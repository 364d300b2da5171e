"""Cuts the words of a title into a product's name and its category."""

from scp_ray.annotators.categories import MAX_ABBREVIATION, MIN_THING_COUNT, without_additions
from scp_ray.annotators.names import Designator, designator_of, is_name_suffix, is_year
from scp_ray.annotators.surroundings import Surroundings
from scp_ray.annotators.wording import GENERIC_THINGS, NUMBERED_PARTS, TITLE_QUALIFIERS

_MAX_NAME_WORDS = 6
_LIST_WORDS = frozenset({"and", "or", "&", "und", "et", "y", "e", "en"})
_NOT_BEFORE_NAMES = TITLE_QUALIFIERS | GENERIC_THINGS


def split_name(
    words: list[str], surroundings: Surroundings, *, names_document: bool
) -> tuple[list[str], list[str]]:
    """Cut words into a product's name and the words of its category; each may be empty.

    Args:
        words: A part of a title, without the words for the document.
        surroundings: The text after the title.
        names_document: Whether the title had words for the document; then years and names that
            the text does not repeat are trusted.

    Returns:
        The name and what follows it, or what comes before it if nothing follows.
    """
    reader = _NameReader(
        _first_of_list(without_additions(words)), surroundings, is_document=names_document
    )
    start, end = reader.bounds()
    has_letter = any(map(str.isalpha, "".join(reader.words[start : start + 1])))
    if not has_letter or not 0 < end - start <= _MAX_NAME_WORDS:
        return [], words
    return reader.words[start:end], reader.words[end:] or reader.words[:start]


def is_shouted(word: str) -> bool:
    """Whether a word of two letters or more is all capitals."""
    return word.isalpha() and word.isupper() and len(word) > 1


class _NameReader:
    """Finds where the name begins and ends in the words of one part of a title."""

    def __init__(self, words: list[str], surroundings: Surroundings, *, is_document: bool) -> None:
        self.words = words
        self._around = surroundings
        self._is_document = is_document

    def bounds(self) -> tuple[int, int]:
        start = self._start()
        designator = self._designator(start)
        if designator is None:
            return start, self._end_of_proper_words(start)
        end = designator + 1
        while end < len(self.words) and self._extends(end):
            end += 1
        is_letter = designator_of(self.words[designator]) is Designator.LETTER
        if is_letter and end == len(self.words) - 1 and not self._around.is_common(self.words[-1]):
            end += 1  # the letter stands inside the name
        return start, end

    def _start(self) -> int:
        """Count the words before the name: mostly none, or ``Room heater | Tarn Heat 40``."""
        small = [index for index, word in enumerate(self.words) if _is_small(word)]
        if small and small[-1] + 1 < len(self.words):
            is_sentence = any(self.words[index] in _NOT_BEFORE_NAMES for index in small)
            return len(self.words) if is_sentence else small[-1] + 1
        lead = 0
        while lead < len(self.words) and self._is_common(self.words[lead]):
            lead += 1
        if not 1 < lead < len(self.words):
            return 0
        is_thing = self._around.thing_count(self.words[lead - 1]) >= MIN_THING_COUNT
        return lead if is_thing else 0

    def _designator(self, start: int) -> int | None:
        """Return the index of the word that tells the product from its sisters, if any."""
        for index in range(start, len(self.words)):
            word, kind = self.words[index], designator_of(self.words[index])
            is_number = kind is not Designator.NONE or (self._is_document and is_year(word))
            if kind is Designator.CODE or (is_number and index > start):
                before = "".join(self.words[index - 1 : index]).casefold().rstrip(".")
                return None if before in NUMBERED_PARTS else index
        return None

    def _extends(self, index: int) -> bool:
        """Whether a word after the designator is still part of the name."""
        last, word = self.words[index - 1 : index + 1]
        if is_name_suffix(word) or self._around.has_name(f"{last} {word}"):
            return True
        if not is_shouted(word) or self._around.has(word):
            return False
        following = self.words[index + 1 : index + 2]
        is_before_number = any(designator_of(one) is not Designator.NONE for one in following)
        return is_before_number or len(word) <= MAX_ABBREVIATION

    def _end_of_proper_words(self, start: int) -> int:
        """Return the end of the words that the text writes as names only.

        Two or more words before those for a document need not be repeated by the text.
        """
        end = unknown_end = start
        while end < len(self.words) and self._around.is_proper(self.words[end]):
            end += 1
        while unknown_end < len(self.words) and self._may_be_proper(self.words[unknown_end]):
            unknown_end += 1
        is_long = unknown_end - start > 1
        return unknown_end if self._is_document and is_long else end

    def _may_be_proper(self, word: str) -> bool:
        return word[:1].isupper() and not self._around.is_common(word)

    def _is_common(self, word: str) -> bool:
        return word.isalpha() and self._around.is_common(word)


def _is_small(word: str) -> bool:
    return word.islower() and word.isalpha()


def _first_of_list(words: list[str]) -> list[str]:
    """Keep the first of several products: ``X1 Gen 9 and X2 Gen 6``."""
    for index, word in enumerate(words):
        is_list = word.casefold() in _LIST_WORDS
        if is_list and any(
            designator_of(before) is not Designator.NONE for before in words[:index]
        ):
            return words[:index]
    return words
