"""Finds the text that two neighbouring chunks share, from the texts alone."""

_MIN_OVERLAP_CHARACTERS = 8
_MAX_OVERLAP_CHARACTERS = 8192  # bounds the work on chunks that are one endless repetition


def shared_characters(chunk: str, next_chunk: str) -> int:
    """Return the length of the longest end of ``chunk`` that ``next_chunk`` begins with."""
    probe = next_chunk[:_MIN_OVERLAP_CHARACTERS]
    if len(probe) < _MIN_OVERLAP_CHARACTERS:
        return 0
    start = chunk.find(probe, max(0, len(chunk) - _MAX_OVERLAP_CHARACTERS))
    while start != -1:
        if next_chunk.startswith(chunk[start:]):
            return len(chunk) - start
        start = chunk.find(probe, start + 1)
    return 0
