"""Whether a node has the encoder that the work was planned with."""

import pytest

from scp_ray.embedding.hash_encoder import HashEncoder
from scp_ray.errors import EncoderError
from scp_ray.pipeline.planned_encoder import load_planned_encoder
from scp_ray.sections import EmbeddingConfig

CONFIG = EmbeddingConfig(model="hash://32")


def test_the_encoder_that_was_planned_is_loaded() -> None:
    planned = HashEncoder(32)
    encoder = load_planned_encoder(CONFIG, planned.revision, 1)
    assert (encoder.name, encoder.dim) == (planned.name, 32)


def test_an_encoder_with_other_weights_is_refused() -> None:
    with pytest.raises(EncoderError, match="'hash://32' of this node has other weights than"):
        load_planned_encoder(CONFIG, HashEncoder(16).revision, 1)
