"""Encodes questions with the encoder of a generation: one, or those of many requests together."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scp_ray.config import Settings, settings_from_manifest
from scp_ray.embedding.factory import load_encoder
from scp_ray.errors import EncoderError
from scp_ray.protocols import Encoder, Float32Array
from scp_ray.serve.models import QUESTION, DegradedModel
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.publish import GenerationEntry

MAX_TEXTS = 64  # of one call


class EncodedQuestion(NamedTuple):
    """The vector of a question, and what is to be said where only a part of it made it."""

    vector: Float32Array
    note: DegradedModel | None


Encoded = EncodedQuestion | Exception


@dataclass(frozen=True, slots=True)
class EncodeCall:
    """A question's text, and the generation whose encoder is meant."""

    generation: GenerationEntry
    text: str


def load_query_encoder(manifest: Manifest, settings: Settings) -> Encoder:
    """Load the encoder that made the index's vectors.

    Raises:
        EncoderError: If it is not here, or is another one under the same name.
    """
    config = settings_from_manifest(manifest.settings, settings).embedding
    # A question is short: a second thread gains nothing, and on a busy machine waits for the first.
    encoder = load_encoder(config, num_threads=config.num_threads or 1)
    if encoder.revision != manifest.encoder.revision:
        message = (
            f"the index was made with {manifest.encoder.model!r} of revision "
            f"{manifest.encoder.revision[:12]}, and the model of that name here has revision "
            f"{encoder.revision[:12]}; install the same model, or build the index again"
        )
        raise EncoderError(message)
    return encoder


def encode_each(encoder: Encoder, texts: Sequence[str]) -> list[Encoded]:
    """Return the vector of each question, in one batch; what the encoder refuses fails alone.

    Of a question that is longer than the encoder takes, the first part makes the vector.
    """
    fitting = [_fitting(encoder, text) for text in texts]
    try:
        vectors = np.asarray(encoder.encode_query([text for text, _ in fitting]), np.float32)
    except EncoderError as error:
        if len(texts) == 1:
            return [error]
        return [one for text in texts for one in encode_each(encoder, [text])]
    return [
        EncodedQuestion(vector, note) for vector, (_, note) in zip(vectors, fitting, strict=True)
    ]


async def encode_calls(
    calls: Sequence[EncodeCall],
    encoder_of: Callable[[GenerationEntry], Encoder],
    executor: Executor,
) -> list[Encoded]:
    """Encode the questions of each generation together, in a thread.

    Returns:
        In the order of the calls; an exception where a generation is not open here, or its encoder
        failed.
    """
    loop = asyncio.get_running_loop()
    rows: dict[GenerationEntry, list[int]] = {}
    for row, call in enumerate(calls):
        rows.setdefault(call.generation, []).append(row)
    encoded: dict[int, Encoded] = {}
    for generation, mine in rows.items():
        texts = [calls[row].text for row in mine]
        answers: Sequence[Encoded]
        try:
            encoder = encoder_of(generation)
            answers = await loop.run_in_executor(executor, encode_each, encoder, texts)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is that generation's alone
            answers = [error] * len(mine)
        encoded.update(zip(mine, answers, strict=True))
    return [encoded[row] for row in range(len(calls))]


def _fitting(encoder: Encoder, text: str) -> tuple[str, DegradedModel | None]:
    limit = encoder.max_tokens
    if len(text.encode("utf-8", "surrogatepass")) <= limit:  # a token has a byte or more
        return text, None
    ends = encoder.tokenizer.token_offsets(text)[:, 1]
    if len(ends) <= limit:
        return text, None
    reason = f"its vector is of its first {limit} tokens of {len(ends)}; all its words count"
    return text[: int(ends[limit - 1])], DegradedModel(group=QUESTION, reason=reason)
