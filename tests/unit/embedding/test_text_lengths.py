"""Refusal of texts that would be cut."""

import pytest

from scp_ray.embedding.text_lengths import refuse_long_texts
from scp_ray.errors import EncoderError


def test_texts_up_to_the_limit_pass() -> None:
    refuse_long_texts([], 5)
    refuse_long_texts([5, 0, 5], 5)


def test_first_longer_text_is_named() -> None:
    with pytest.raises(EncoderError, match=r"text 1 of 3 has 6 tokens, .* at most 5"):
        refuse_long_texts([5, 6, 7], 5)
