"""Covers a text with windows of tokens, for a model that does not take the whole."""

from scp_ray.errors import EncoderError
from scp_ray.protocols import Int64Array, Tokenizer


def text_windows(text: str, max_tokens: int, tokenizer: Tokenizer) -> list[str]:
    """Return parts of ``text`` that cover its tokens and have at most ``max_tokens`` each.

    Neighbours overlap by half. A part is counted as a text of its own, because a cut inside a word
    can change its tokens.

    Args:
        text: Any text; returned whole if it fits.
        max_tokens: Most tokens of a part, >= 1.
        tokenizer: What counts and places them.

    Raises:
        EncoderError: If a single token has more than ``max_tokens`` tokens when it stands alone.
    """
    offsets = tokenizer.token_offsets(text)
    if len(offsets) <= max_tokens:
        return [text]
    windows: list[str] = []
    start = end = 0
    while end < len(offsets):
        end = _fitting_end(text, offsets[start : start + max_tokens], max_tokens, tokenizer) + start
        windows.append(_part(text, offsets[start:end]))
        start += max((end - start) // 2, 1)
    return windows


def _fitting_end(text: str, offsets: Int64Array, max_tokens: int, tokenizer: Tokenizer) -> int:
    end = len(offsets)
    while (count := tokenizer.count_tokens([_part(text, offsets[:end])])[0]) > max_tokens:
        if end == 1:
            message = f"one token of a text has {count} tokens alone, more than {max_tokens}"
            raise EncoderError(message)
        end = max(end - (count - max_tokens), 1)
    return end


def _part(text: str, offsets: Int64Array) -> str:
    return text[offsets[0, 0] : offsets[-1, 1]]
