"""The encoder of a worker: the one that the work was planned with, or none."""

from scp_ray.embedding.factory import load_encoder
from scp_ray.errors import EncoderError
from scp_ray.protocols import Encoder
from scp_ray.sections import EmbeddingConfig


def load_planned_encoder(config: EmbeddingConfig, revision: str, num_threads: int) -> Encoder:
    """Load the encoder of this node.

    Args:
        config: Names it.
        revision: Of the encoder that the work was planned with.
        num_threads: CPU threads.

    Raises:
        EncoderError: If it cannot be loaded, or its revision is another one.
    """
    encoder = load_encoder(config, num_threads=num_threads)
    if encoder.revision != revision:
        message = (
            f"the encoder {encoder.name!r} of this node has other weights than the one that the "
            "run was planned with; install the same model on every node"
        )
        raise EncoderError(message)
    return encoder
