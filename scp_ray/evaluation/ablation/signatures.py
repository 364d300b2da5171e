"""The signatures of a variant: CHOP's, with a part of it taken away, or the true names."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from scp_ray.chop.annotate import fold
from scp_ray.errors import ConfigError
from scp_ray.evaluation.ablation.config import PrefixPart, VariantSetting
from scp_ray.records import ChunkAnnotation, ChunkSpan, Cnm

_PART_KEYS: Final = {"char_start", "char_end", "name"}


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A stretch of a document and what it is about.

    Attributes:
        char_start: First code point.
        char_end: One past the last; None = to the end of the document.
        name: The true name.
    """

    char_start: int
    char_end: int | None
    name: str


TrueNames = Mapping[str, Sequence[NamedPart]]


def read_true_names(path: Path) -> dict[str, list[NamedPart]]:
    """Read true names: JSON, by doc_id a name, or a list of ``{char_start, char_end, name}``.

    Raises:
        ConfigError: If the file cannot be read or is not in the format; the document is named.
    """
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise ConfigError(message) from error
    except (ValueError, RecursionError) as error:
        message = f"{path} is not JSON: {error}"
        raise ConfigError(message) from error
    if not isinstance(tree, dict):
        message = f"{path}: expected an object of names by doc_id"
        raise ConfigError(message)
    return {doc_id: _named_parts(value, f"{path}: {doc_id!r}") for doc_id, value in tree.items()}


def true_annotations(
    spans: Sequence[ChunkSpan], parts: Sequence[NamedPart]
) -> list[ChunkAnnotation]:
    """Give every chunk the name of the part that its middle lies in; no name where there is none.

    Args:
        spans: The chunks of a document.
        parts: Its parts, which do not overlap.
    """
    cnms = [Cnm(model=name_at((span.char_start + span.char_end) // 2, parts)) for span in spans]
    return [
        ChunkAnnotation(cnm, starts_span=not index or cnm != cnms[index - 1])
        for index, cnm in enumerate(cnms)
    ]


def completed(annotations: Sequence[ChunkAnnotation]) -> list[ChunkAnnotation]:
    """Fill what spans leave missing from the first one, as ``chop.annotate.fold`` does.

    Args:
        annotations: Of the chunks of a document, made without a fallback.
    """
    if not annotations:
        return []
    starts = {row: one.cnm for row, one in enumerate(annotations) if one.starts_span}
    decisions = [not one.starts_span for one in annotations[1:]]
    return fold(decisions, starts, document_fallback=True)


def separate(cnms: Sequence[Cnm]) -> list[ChunkAnnotation]:
    """Make every chunk a span of its own: CHOP without continuity."""
    return [ChunkAnnotation(cnm, starts_span=True) for cnm in cnms]


def shown(cnm: Cnm, setting: VariantSetting) -> Cnm:
    """Return the fields of a signature that the prefix may show."""
    parts = setting.prefix_parts
    return replace(
        cnm,
        category=cnm.category if PrefixPart.CATEGORY in parts else None,
        nouns=cnm.nouns if PrefixPart.NOUNS in parts else (),
        model=cnm.model if PrefixPart.MODEL in parts else None,
    )


def name_at(place: int, parts: Sequence[NamedPart]) -> str | None:
    """Return the name of the part that holds a character; None where there is none."""
    for part in parts:
        if part.char_start <= place and (part.char_end is None or place < part.char_end):
            return part.name
    return None


def _named_parts(value: Any, where: str) -> list[NamedPart]:  # noqa: ANN401 - of JSON
    if isinstance(value, str) and value.strip():
        return [NamedPart(0, None, value)]
    if not isinstance(value, list) or not value:
        message = f"{where}: expected a name or a list of parts"
        raise ConfigError(message)
    return [_named_part(part, where) for part in value]


def _named_part(part: Any, where: str) -> NamedPart:  # noqa: ANN401 - of JSON
    if not isinstance(part, dict) or part.keys() != _PART_KEYS:
        message = f"{where}: a part must be an object with the keys {sorted(_PART_KEYS)}"
        raise ConfigError(message)
    start, end, name = part["char_start"], part["char_end"], part["name"]
    bounds = [bound for bound in (start, end) if isinstance(bound, int)]
    is_named = isinstance(name, str) and name.strip()
    if len(bounds) != len((start, end)) or not 0 <= start < end or not is_named:
        message = f"{where}: a part needs 0 <= char_start < char_end and a name"
        raise ConfigError(message)
    return NamedPart(start, end, name)
