"""Which encoding a text has that is not Unicode, by the languages that are written in it.

charset-normalizer measures how garbled each reading is and which language it resembles. On top of
that stands a rule of our own: a reading counts when its language is at home in its encoding, and
where two different texts are equally likely none of them is taken.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charset_normalizer.models import CharsetMatch

_WESTERN = frozenset(
    [
        *("English", "German", "French", "Spanish", "Portuguese", "Italian", "Dutch"),
        *("Swedish", "Norwegian", "Danish", "Finnish", "Indonesian"),
    ]
)
_CENTRAL = frozenset(["Polish", "Czech", "Slovak", "Hungarian", "Croatian", "Slovene", "Romanian"])
_CYRILLIC = frozenset(["Russian", "Ukrainian", "Bulgarian", "Serbian", "Kazakh"])

# In order of preference. The language guess does not see accents, so that it is the same for all
# of them: it is what tells Hungarian in cp1250 from Portuguese in cp1252.
LATIN: Mapping[str, frozenset[str]] = {
    "cp1252": _WESTERN,
    "cp1250": _CENTRAL,
    "iso8859_2": _CENTRAL,
    "cp1254": frozenset({"Turkish"}),
    "cp1257": frozenset({"Lithuanian", "Latvian", "Estonian"}),
    "cp850": _WESTERN,
    "mac_roman": _WESTERN,
}
NON_LATIN: Mapping[str, frozenset[str]] = {
    "cp1251": _CYRILLIC,
    "koi8_r": _CYRILLIC,
    "cp866": _CYRILLIC,
    "cp1253": frozenset({"Greek"}),
    "cp1255": frozenset({"Hebrew"}),
    "cp1256": frozenset({"Arabic", "Farsi"}),
    "cp874": frozenset({"Thai"}),
    "cp932": frozenset({"Japanese"}),
    "euc_jp": frozenset({"Japanese"}),
    "gb18030": frozenset({"Chinese", "Classical Chinese"}),
    "big5": frozenset({"Chinese", "Classical Chinese"}),
    "cp949": frozenset({"Korean"}),
}
_DEFAULT = "cp1252"
_MULTI_BYTE = frozenset({"cp932", "euc_jp", "gb18030", "big5", "cp949"})

_HIRAGANA = re.compile("[\u3041-\u309f]")
# A symbol between two letters. Dashes, apostrophes and soft hyphens may stand there.
_SYMBOL_IN_WORD = re.compile(
    r"(?<=[^\W\d_])[\x80-\xac\xae-\xb6\xb8-\xbf\u0192\u201a-\u2022\u2030](?=[^\W\d_])"
)
_CAPITAL_IN_WORD = re.compile("(?<=[a-z])[\u00c0-\u00de\u0160\u0178\u017d]")
_WESTERN_SYMBOLS = frozenset("°±²³µ·×÷½¼¾€£§©®™–—‘’“”„…•«»¡¿\u00a0")
_MAX_WORD_SHARE = 0.5
_MAX_LATIN_SHARE = 0.3  # non-ASCII bytes: Czech has 0.17, Cyrillic and CJK over 0.6
_MAX_MESS = 0.1  # charset-normalizer gives up at 0.2; right guesses on prose stay under 0.07
_MIN_COHERENCE = 0.3  # right guesses on prose have over 0.36
_MAX_SYMBOL_SHARE = 0.05
_MIN_HIRAGANA_SHARE = 0.1
_SAMPLE_BYTES = 32 * 1024


@dataclass(frozen=True, order=True)
class _Guess:
    """One reading of the sample; the least is the best."""

    lacks_kana: bool
    mess: float
    incoherence: float
    preference: int
    encoding: str
    text: str

    def is_rivalled_by(self, other: "_Guess") -> bool:
        """Whether nothing but our order of preference speaks against another reading."""
        is_tie = (self.lacks_kana, self.mess, self.incoherence) == (
            other.lacks_kana,
            other.mess,
            other.incoherence,
        )
        return is_tie and self.text != other.text


def non_ascii_lines(data: bytes) -> bytes:
    """Return the lines that are not ASCII, up to a limit: only they tell encodings apart."""
    lines = []
    size = 0
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line)
            size += len(line)
        if size >= _SAMPLE_BYTES:
            break
    return b"".join(lines)


def utf8_share(sample: bytes) -> float:
    """Return the share of the non-ASCII sequences that are valid UTF-8, in [0, 1]."""
    decoded = sample.decode("utf-8", errors="replace")
    num_broken = decoded.count("\ufffd")
    num_valid = sum(not c.isascii() for c in decoded) - num_broken
    return num_valid / (num_valid + num_broken)


def guess_encoding(sample: bytes) -> str | None:
    """Return the encoding that the evidence speaks for, or None.

    Args:
        sample: Lines that are not ASCII and not UTF-8; not empty.
    """
    share = sum(byte >= 0x80 for byte in sample) / len(sample)  # noqa: PLR2004 - end of ASCII
    guesses = sorted(_guesses(sample, LATIN if share < _MAX_LATIN_SHARE else NON_LATIN))
    if not guesses:
        return _DEFAULT if share < _MAX_WORD_SHARE and _is_western(sample) else None
    best, *others = guesses
    is_default = best.text == sample.decode(_DEFAULT, errors="replace")
    return None if not is_default and any(map(best.is_rivalled_by, others)) else best.encoding


def _guesses(sample: bytes, encodings: Mapping[str, frozenset[str]]) -> Iterator[_Guess]:
    """Yield the readings that look like a language that is written in their encoding."""
    for preference, (encoding, languages) in enumerate(encodings.items()):
        match = _match(sample, encoding)
        if match is None:
            continue
        if match.languages:
            is_likely = match.languages[0] in languages and match.coherence >= _MIN_COHERENCE
        else:  # the language models do not cover short texts and most of CJK
            is_likely = encoding in _MULTI_BYTE
        if is_likely:
            text = str(match)
            has_kana = len(_HIRAGANA.findall(text)) > _MIN_HIRAGANA_SHARE * len(text)
            mess, incoherence = match.chaos, 1.0 - match.coherence
            yield _Guess(not has_kana, mess, incoherence, preference, encoding, text)


def _is_western(sample: bytes) -> bool:
    """Whether a text too short to show its language reads well in the most common encoding."""
    text = sample.decode(_DEFAULT, errors="replace")
    odd = [c for c in text if not (c.isascii() or c.isalpha() or c in _WESTERN_SYMBOLS)]
    if odd or _has_symbols_in_words(text) or _CAPITAL_IN_WORD.search(text):
        return False
    match = _match(sample, _DEFAULT)
    return match is None or not match.languages or match.languages[0] in LATIN[_DEFAULT]


def _match(sample: bytes, encoding: str) -> "CharsetMatch | None":
    """Read the sample in one encoding; None where it is garbled."""
    from charset_normalizer import from_bytes

    matches = from_bytes(
        sample, cp_isolation=[encoding], preemptive_behaviour=False, enable_fallback=False
    )
    match = matches.best()
    if match is None or match.chaos > _MAX_MESS or _has_symbols_in_words(str(match)):
        return None
    return match


def _has_symbols_in_words(text: str) -> bool:
    num_symbols = len(_SYMBOL_IN_WORD.findall(text))
    return num_symbols > _MAX_SYMBOL_SHARE * sum(not c.isascii() for c in text)
