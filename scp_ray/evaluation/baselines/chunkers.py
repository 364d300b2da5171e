"""Ways to cut a text into chunks, for comparison with the product's own."""

import sys
from bisect import bisect_left
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from scp_ray.corpus.chunker import chunk_spans
from scp_ray.errors import ConfigError
from scp_ray.evaluation.baselines.headings import heading_starts
from scp_ray.evaluation.baselines.sentence_windows import (
    SentenceWindows,
    Stretch,
    fitting_sentences,
)
from scp_ray.evaluation.baselines.topic_shifts import Embed, topic_stretches
from scp_ray.protocols import Tokenizer
from scp_ray.records import ChunkSpan
from scp_ray.sections import ChunkingConfig

TOPIC_THRESHOLD: Final = 0.35
"""CHOP's, for its baseline Cosine-Chunking."""


class ChunkMethod(StrEnum):
    """How a text is cut.

    Attributes:
        TOKENS: Windows of tokens, the product's own; with 500 and 100 CHOP's baseline Naive-500T.
        SENTENCES: Windows of whole sentences.
        HEADINGS: Windows of whole sentences that do not go on past a heading.
        COSINE: CHOP's baseline Cosine-Chunking: sentences up to a shift of topic.
    """

    TOKENS = "tokens"
    SENTENCES = "sentences"
    HEADINGS = "headings"
    COSINE = "cosine"


def cut_with(
    method: ChunkMethod,
    text: str,
    tokenizer: Tokenizer,
    config: ChunkingConfig,
    *,
    embed: Embed | None = None,
    threshold: float = TOPIC_THRESHOLD,
) -> list[ChunkSpan]:
    """Cut a text into chunks, in time linear in its length.

    A sentence that is longer than a window is cut by tokens.

    Args:
        method: How.
        text: The whole document.
        tokenizer: The encoder's. A window may be longer than what the encoder takes at once.
        config: Sizes: a chunk has at most ``chunk_size_tokens`` and shares at most
            ``overlap_tokens`` with the next; ``cosine`` has no overlap. With ``tokens`` the sizes
            are exact, and counted as ``chunk_spans`` does.
        embed: Of ``cosine``: embeds sentences, of up to ``chunk_size_tokens``.
        threshold: Of ``cosine``: least cosine of neighbouring sentences of a chunk, in [-1, 1].

    Returns:
        Ascending spans, each with at least one token, that hold every token of the text; but for
        ``tokens`` also every other character that is not white space.

    Raises:
        DocumentError: If the text has no token.
        ConfigError: If ``cosine`` has nothing to embed with.
    """
    if method is ChunkMethod.TOKENS:
        return chunk_spans(text, tokenizer, config, sys.maxsize)
    sentences = fitting_sentences(text, tokenizer, config.chunk_size_tokens)
    if method is ChunkMethod.SENTENCES:
        stretches = [Stretch(0, len(sentences))]
    elif method is ChunkMethod.HEADINGS:
        stretches = _sections(sentences, heading_starts(text))
    elif embed is None:
        message = f"chunk method {method} compares sentences, and needs an encoder for them"
        raise ConfigError(message)
    else:
        shown = [text[one.char_start : one.char_end] for one in sentences]
        stretches = topic_stretches(shown, embed, threshold)
        config = config.model_copy(update={"overlap_tokens": 0})
    return SentenceWindows(text, sentences, tokenizer, config).within(stretches)


def _sections(sentences: Sequence[ChunkSpan], headings: Sequence[int]) -> list[Stretch]:
    """Return stretches that begin with a heading, or with several that follow each other."""
    ends = [sentence.char_end for sentence in sentences]
    headed = {min(bisect_left(ends, start + 1), len(ends) - 1) for start in headings}
    bounds = [0, *sorted(index for index in headed if index and index - 1 not in headed)]
    return [
        Stretch(first, end)
        for first, end in zip(bounds, [*bounds[1:], len(sentences)], strict=True)
    ]
