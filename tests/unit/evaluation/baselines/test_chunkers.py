"""One function over all ways to cut. Their laws are in tests/property/test_baseline_chunkers.py."""

from typing import Any

import pytest

from scp_ray.corpus.chunker import chunk_spans
from scp_ray.embedding.hash_encoder import HashEncoder, WordTokenizer
from scp_ray.errors import ConfigError
from scp_ray.evaluation.baselines.chunkers import ChunkMethod, cut_with
from scp_ray.sections import ChunkingConfig

CONFIG = ChunkingConfig(chunk_size_tokens=12, overlap_tokens=4)
TOKENIZER = WordTokenizer()
MANUAL = """\
# Ostra K1

## Cleaning

Rinse the tank. Let the tank dry.

## Care

Wipe the tank. Never open the base! It holds 230 V.
"""


def cut(method: ChunkMethod, text: str, **options: Any) -> list[str]:
    spans = cut_with(method, text, TOKENIZER, CONFIG, **options)
    return [text[span.char_start : span.char_end] for span in spans]


def test_tokens_are_the_windows_of_the_product() -> None:
    spans = cut_with(ChunkMethod.TOKENS, MANUAL, TOKENIZER, CONFIG)
    assert spans == chunk_spans(MANUAL, TOKENIZER, CONFIG, 256)


def test_sentences_are_not_cut() -> None:
    assert cut(ChunkMethod.SENTENCES, MANUAL) == [
        "# Ostra K1\n\n## Cleaning\n\nRinse the tank.",
        "Rinse the tank. Let the tank dry.\n\n## Care",
        "## Care\n\nWipe the tank. Never open the base!",
        "It holds 230 V.",
    ]


def test_a_heading_opens_a_chunk() -> None:
    assert cut(ChunkMethod.HEADINGS, MANUAL) == [
        "# Ostra K1\n\n## Cleaning\n\nRinse the tank.",
        "Rinse the tank. Let the tank dry.",
        "## Care\n\nWipe the tank. Never open the base!",
        "It holds 230 V.",
    ]


def test_text_before_the_first_heading_is_kept() -> None:
    assert cut(ChunkMethod.HEADINGS, "Thank you.\n\nSAFETY\n\nDo not open.") == [
        "Thank you.",
        "SAFETY\n\nDo not open.",
    ]


def test_cosine_cuts_where_no_words_are_shared() -> None:
    text = "Rinse the tank. Rinse the tank well. Lamps glow red. Red lamps glow."
    encoder = HashEncoder(256)
    assert cut(ChunkMethod.COSINE, text, embed=encoder.encode) == [
        "Rinse the tank. Rinse the tank well.",
        "Lamps glow red. Red lamps glow.",
    ]
    assert len(cut(ChunkMethod.COSINE, text, embed=encoder.encode, threshold=1.0)) == 4


def test_cosine_without_an_encoder_is_refused() -> None:
    with pytest.raises(ConfigError, match="cosine compares sentences, and needs an encoder"):
        cut(ChunkMethod.COSINE, MANUAL)
