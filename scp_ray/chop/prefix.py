"""The prefix that stands in front of a chunk when it is embedded."""

from collections.abc import Iterator

from scp_ray.protocols import Tokenizer
from scp_ray.records import Cnm

PREFIX_REVISION = "plain-1"
"""Changes whenever the same CNM and chunk could give another text to embed."""

_SEPARATOR = "\n"


def render_prefix(cnm: Cnm, tokenizer: Tokenizer, budget_tokens: int) -> str:
    """Render a CNM as ``<model> <category> <nouns>``, in at most ``budget_tokens``.

    What does not fit is left out: nouns from the last, then the category, then words from the end
    of the model.

    Args:
        cnm: The signature in force at the chunk.
        tokenizer: The encoder's; it decides what fits.
        budget_tokens: Most tokens of the prefix and the break after it, >= 0.

    Returns:
        The prefix; empty for an empty CNM, or when nothing fits.

    Source: CHOP, PFX(M_i). The template is our choice: with all fields the bare words, model
    first, were ahead of labelled fields, punctuation and other orders on questions that name a
    product.
    """
    for candidate in _shortenings(cnm):
        if tokenizer.count_tokens([candidate + _SEPARATOR])[0] <= budget_tokens:
            return candidate
    return ""


def embedding_text(prefix: str, chunk: str) -> str:
    """Return the text to embed: the prefix on a line of its own, then the chunk as it is."""
    return f"{prefix}{_SEPARATOR}{chunk}" if prefix else chunk


def _shortenings(cnm: Cnm) -> Iterator[str]:
    """Yield the prefix in full and ever shorter; never an empty one."""
    model, category = cnm.model or "", cnm.category or ""
    for num_nouns in range(len(cnm.nouns), 0, -1):
        yield _joined(model, category, *cnm.nouns[:num_nouns])
    if category:
        yield _joined(model, category)
    words = model.split()
    for num_words in range(len(words), 0, -1):
        yield _joined(*words[:num_words])


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)
