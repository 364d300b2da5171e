"""Makes text of others safe to show: no character of it can steer a terminal or hide."""

_LINE_BREAKS = frozenset("\n\t")


def printable(text: str) -> str:
    r"""Return a text with white space as it is and other invisible characters escaped.

    Control characters, overrides of the direction and lone surrogates become ``\x1b`` and the
    like. Joiners stay, since scripts and emoji need them.
    """
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character.isprintable() or character in _LINE_BREAKS or character in "\u200c\u200d":
        return character
    return " " if character.isspace() and character >= "\xa0" else ascii(character)[1:-1]
