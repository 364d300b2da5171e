"""Refuses texts that an encoder would cut."""

from collections.abc import Sequence

from scp_ray.errors import EncoderError


def refuse_long_texts(counts: Sequence[int], max_tokens: int) -> None:
    """Check the token counts of texts against the most that the encoder takes.

    Raises:
        EncoderError: If one is longer; its index and its length are named.
    """
    for row, count in enumerate(counts):
        if count > max_tokens:
            message = (
                f"text {row} of {len(counts)} has {count} tokens, but the encoder takes at most "
                f"{max_tokens}"
            )
            raise EncoderError(message)
