"""What the text around a line says about its words."""

import re
from functools import cached_property

WINDOW_CHARACTERS = 20_000
"""How far around a line its words are looked up: about 25 chunks on either side."""

_NEAR_CHARACTERS = 1500
_DETERMINER = "(?:the|your|this|an?|every|each|der|die|das|den|ein|eine|le|la|un|une|el|il)"
_WORD = re.compile(r"[^\W\d_][\w-]*")
_CAPITALISED = re.compile(r"(?<=[\w,] )[^\W\d_][\w+-]*")


class Surroundings:
    """The text before and after a line, with how its words are written there.

    Attributes:
        before: Up to ``WINDOW_CHARACTERS`` before the line.
        after: Up to ``WINDOW_CHARACTERS`` after it.
    """

    def __init__(self, text: str, char_start: int, char_end: int) -> None:
        """Look around ``text[char_start:char_end]``."""
        self.before = text[max(0, char_start - WINDOW_CHARACTERS) : char_start]
        self.after = text[char_end : char_end + WINDOW_CHARACTERS]

    @property
    def has_blank_lines(self) -> bool:
        """Whether blank lines part the text nearby."""
        near = self.before[-_NEAR_CHARACTERS:] + self.after[:_NEAR_CHARACTERS]
        return "\n\n" in near

    @cached_property
    def _folded_after(self) -> str:
        return self.after.casefold()

    @cached_property
    def _small(self) -> frozenset[str]:
        return frozenset(word for word in _WORD.findall(self.after) if word.islower())

    @cached_property
    def _capitalised(self) -> dict[str, str]:
        """Forms with a capital that stand inside a sentence or heading, the first one wins."""
        forms = [form for form in _CAPITALISED.findall(self.after) if not form.islower()]
        return {form.casefold(): form for form in reversed(forms)}

    def is_common(self, word: str) -> bool:
        """Whether the word is written in small letters too."""
        return word.casefold() in self._small

    def thing_count(self, word: str) -> int:
        """Return how often sentences speak of ``the``, ``your``, ``a`` ... of this word."""
        if not self.is_common(word):
            return 0
        pattern = rf"\b{_DETERMINER} (?:[\w-]+ ){{0,2}}{re.escape(word.casefold())}\b"
        return len(re.findall(pattern, self._folded_after))

    def is_proper(self, word: str) -> bool:
        """Whether the word is written with a capital inside sentences, and never without."""
        return word.casefold() in self._capitalised and not self.is_common(word)

    def has(self, word: str) -> bool:
        """Whether the text after the line has the word at all."""
        return self.is_common(word) or word.casefold() in self._capitalised

    def has_name(self, phrase: str) -> bool:
        """Whether the text after the line has these words, the last one never in small letters."""
        is_there = phrase.casefold() in self._folded_after
        return is_there and not self.is_common(phrase.rsplit(maxsplit=1)[-1])

    def as_written(self, word: str) -> str:
        """Return the capitalised form that the text uses, else the word as it is."""
        return self._capitalised.get(word.casefold(), word)
