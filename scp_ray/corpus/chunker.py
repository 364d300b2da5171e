"""Token windows with exact overlap, in time and memory linear in the text."""

from collections.abc import Sequence

import numpy as np

from scp_ray.errors import ConfigError, DocumentError, QuarantineReason
from scp_ray.protocols import Int64Array, Tokenizer
from scp_ray.records import ChunkSpan
from scp_ray.sections import ChunkingConfig

_COUNT_BATCH = 256  # chunk texts that exist at once


def check_budgets(config: ChunkingConfig, max_tokens: int) -> None:
    """Check that a chunk and its prefix always fit the encoder.

    Args:
        config: Sizes of windows and prefixes.
        max_tokens: Most tokens that the encoder takes, special tokens not counted.

    Raises:
        ConfigError: If they do not.
    """
    needed = config.chunk_size_tokens + config.prefix_budget_tokens
    if needed > max_tokens:
        message = (
            f"chunking.chunk_size_tokens ({config.chunk_size_tokens}) and "
            f"chunking.prefix_budget_tokens ({config.prefix_budget_tokens}) make {needed} tokens, "
            f"but the encoder takes {max_tokens}; make one of them smaller"
        )
        raise ConfigError(message)


def chunk_spans(
    text: str, tokenizer: Tokenizer, config: ChunkingConfig, max_tokens: int
) -> list[ChunkSpan]:
    """Cut a text into windows of its tokens.

    Every window has ``chunk_size_tokens`` tokens and shares ``overlap_tokens`` with the next; the
    last one may be shorter and always has a token, and a character, that the one before has not.

    Args:
        text: The whole document.
        tokenizer: The encoder's.
        config: Sizes.
        max_tokens: Most tokens that the encoder takes, special tokens not counted.

    Returns:
        Spans from the start of a window's first token to the end of its last one, ascending. A
        window may begin or end inside a word, so that ``num_tokens``, counted on the chunk's
        text alone, can differ from the size of the window.

    Raises:
        DocumentError: EMPTY if there is no token, CHUNK_TOO_LONG if a chunk's text alone has more
            than ``max_tokens`` tokens.

    Source: fixed windows with overlap, as both papers use; that the overlap is exact is ours.
    """
    offsets = tokenizer.token_offsets(text)
    if len(offsets) == 0:
        raise DocumentError(QuarantineReason.EMPTY, "the text has no token")
    starts, ends = _windows(offsets, config)
    spans = []
    for first in range(0, len(starts), _COUNT_BATCH):
        bounds = list(
            zip(
                starts[first : first + _COUNT_BATCH].tolist(),
                ends[first : first + _COUNT_BATCH].tolist(),
                strict=True,
            )
        )
        counts = tokenizer.count_tokens([text[start:end] for start, end in bounds])
        spans += [
            ChunkSpan(start, end, num_tokens)
            for (start, end), num_tokens in zip(bounds, counts, strict=True)
        ]
    _check_lengths(spans, max_tokens)
    return spans


def _windows(offsets: Int64Array, config: ChunkingConfig) -> tuple[Int64Array, Int64Array]:
    """Return first and last characters of the windows."""
    num_tokens = len(offsets)
    step = config.chunk_size_tokens - config.overlap_tokens
    first = np.arange(0, max(num_tokens - config.overlap_tokens, 1), step)
    last = np.minimum(first + config.chunk_size_tokens, num_tokens) - 1
    starts, ends = offsets[first, 0], offsets[last, 1]
    # Several tokens of a byte-level vocabulary can share one character, also the last one.
    is_new = np.concatenate([[True], ends[1:] > ends[:-1]])
    return starts[is_new], ends[is_new]


def _check_lengths(spans: Sequence[ChunkSpan], max_tokens: int) -> None:
    for chunk_index, span in enumerate(spans):
        if span.num_tokens > max_tokens:
            detail = (
                f"chunk {chunk_index} (characters {span.char_start} to {span.char_end}) has "
                f"{span.num_tokens} tokens on its own, but the encoder takes {max_tokens}"
            )
            raise DocumentError(QuarantineReason.CHUNK_TOO_LONG, detail)
