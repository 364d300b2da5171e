"""A corpus of short manuals made from a seed, and the ways in which some of them change."""

import random
from collections.abc import Callable, Mapping
from typing import TypeAlias

Manuals: TypeAlias = dict[str, str]
Change: TypeAlias = Callable[[str, random.Random], str]

_NOUNS = (
    "filter pump valve drain lamp cable motor panel sensor blade hinge socket fuse timer handle "
    "lid tank hose seal spring switch button wheel cover tray plate basket nozzle bracket screw"
).split()
_VERBS = "press turn hold clean check remove insert close open replace tighten rinse dry".split()
_REASONS = "noise leak smell delay heat pressure light dust frost scale wear damage".split()
_SENTENCES = (28, 50)  # of a manual: three to five chunks with the settings' defaults
_SECTION_SENTENCES = 12
_ADDED_SENTENCES = 6
_NEAR_THE_START = 6  # lines: after the first sentence


def make_manuals(count: int, seed: int) -> Manuals:
    """Return manuals by doc_id, the first ones the same whatever their count."""
    rng = random.Random(seed)  # noqa: S311 - text, no secret
    return {f"manual_{number:05d}.md": _manual(number, rng) for number in range(count)}


def edit_somewhere(text: str, rng: random.Random) -> str:
    """Put another noun for one at a random place; what follows mostly stays in its window."""
    words = text.split(" ")
    places = [place for place, word in enumerate(words) if word in _NOUNS]
    place = rng.choice(places)
    words[place] = rng.choice([noun for noun in _NOUNS if noun != words[place]])
    return " ".join(words)


def add_at_end(text: str, rng: random.Random) -> str:
    """Add a few sentences at the end."""
    return text + "\n".join(_sentence(rng) for _ in range(_ADDED_SENTENCES)) + "\n"


def insert_near_start(text: str, rng: random.Random) -> str:
    """Add one sentence near the start, which moves every window after it."""
    lines = text.splitlines(keepends=True)
    lines.insert(_NEAR_THE_START, _sentence(rng) + "\n")
    return "".join(lines)


def changed(manuals: Mapping[str, str], change: Change, count: int, rng: random.Random) -> Manuals:
    """Return so many of the manuals, drawn at random, as they are after a change."""
    return {doc_id: change(manuals[doc_id], rng) for doc_id in rng.sample(sorted(manuals), count)}


def _manual(number: int, rng: random.Random) -> str:
    lines = [f"# Orbis K-{number} Kettle - User Manual", ""]
    for row in range(rng.randint(*_SENTENCES)):
        if row % _SECTION_SENTENCES == 0:
            lines += ["", f"## {rng.choice(_NOUNS).title()} and {rng.choice(_NOUNS)}", ""]
        lines.append(_sentence(rng))
    return "\n".join(lines) + "\n"


def _sentence(rng: random.Random) -> str:
    verb, reason = rng.choice(_VERBS).capitalize(), rng.choice(_REASONS)
    first, second, third = rng.sample(_NOUNS, 3)
    return (
        f"{verb} the {first} of the {second} for {rng.randint(2, 90)} s if {third} shows {reason}."
    )
