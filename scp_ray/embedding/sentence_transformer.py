"""The ``Encoder`` port over sentence-transformers."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scp_ray.embedding.model_folder import find_model_folder, model_revision
from scp_ray.embedding.model_loading import load_model
from scp_ray.embedding.subword_tokenizer import SubwordTokenizer
from scp_ray.embedding.text_lengths import refuse_long_texts
from scp_ray.embedding.unit_rows import unit_rows
from scp_ray.errors import EncoderError
from scp_ray.protocols import Float32Array
from scp_ray.sections import EmbeddingConfig

if TYPE_CHECKING:
    import tokenizers
    from sentence_transformers import SentenceTransformer

_DOCUMENT_PROMPTS: Final = ("document", "passage", "corpus")
_QUERY_PROMPTS: Final = ("query",)
_NO_LIMIT: Final = 2**31 - 1  # models without positions state infinity


class SentenceTransformerEncoder:
    """Embeds texts with a sentence-transformers model.

    Texts are batched by their number of tokens, so that little is padding. A model that was
    trained with prompts for questions and documents gets them; they count against its length.

    One instance belongs to one process. Its threads take turns, because the library changes the
    state of the tokenizer while it encodes.

    Attributes:
        name: Model name or folder, as the settings give it.
        revision: SHA-256 over weights, tokenizer, module configuration and dtype.
        dim: Length of a vector.
        max_tokens: Most tokens of one chunk, special tokens and the document prompt not counted.
    """

    def __init__(
        self, name: str, revision: str, model: "SentenceTransformer", batch_size: int
    ) -> None:
        self.name = name
        self.revision = revision
        self._model = model
        self._batch_size = batch_size
        self._turn = threading.Lock()
        self._document_prompt = _prompt(model, _DOCUMENT_PROMPTS)
        self._query_prompt = _prompt(model, _QUERY_PROMPTS)
        tokenizer = _fast_tokenizer(model)
        self._tokenizer = SubwordTokenizer(tokenizer)
        self._room = _max_length(model) - tokenizer.num_special_tokens_to_add(is_pair=False)
        self.max_tokens = self._room - self._tokenizer.count_tokens([self._document_prompt])[0]
        self.dim = _dim(model)

    @property
    def tokenizer(self) -> SubwordTokenizer:
        """The model's own tokenizer, without truncation."""
        return self._tokenizer

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of chunks, shape (n, dim), float32, unit norm, in the order given.

        Raises:
            EncoderError: If a text is longer than the model takes, or a vector is not usable; the
                index of the text is named.
        """
        return self._embedded(texts, "document", self._document_prompt)

    def encode_query(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of questions; as ``encode``, but with the model's query prompt.

        Raises:
            EncoderError: As ``encode``.
        """
        return self._embedded(texts, "query", self._query_prompt)

    def _embedded(self, texts: Sequence[str], task: str, prompt: str) -> Float32Array:
        counts = self._tokenizer.count_tokens([prompt + text for text in texts])
        refuse_long_texts(counts, self._room)
        longest_first = np.argsort(np.negative(counts), kind="stable")
        embeddings = np.empty((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), self._batch_size):
            rows = longest_first[start : start + self._batch_size]
            with self._turn:
                embeddings[rows] = self._model.encode(
                    [texts[row] for row in rows],
                    prompt=prompt,
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    task=task,
                )
        return unit_rows(embeddings)


def load_sentence_transformer(
    config: EmbeddingConfig, *, num_threads: int
) -> SentenceTransformerEncoder:
    """Load the model that the settings name.

    Args:
        config: The encoder's settings.
        num_threads: CPU threads of this process; 0 leaves torch's own choice.

    Raises:
        EncoderError: If the model is not there, cannot be loaded, or is not one that embeds text
            with a fast tokenizer.
    """
    folder = find_model_folder(config.model)
    revision = model_revision(folder, config.dtype)
    model = load_model(folder, config)
    if num_threads:
        import torch

        torch.set_num_threads(num_threads)
    return SentenceTransformerEncoder(config.model, revision, model, config.batch_size)


def _prompt(model: "SentenceTransformer", names: tuple[str, ...]) -> str:
    return next((prompt for name in names if (prompt := model.prompts.get(name))), "")


def _fast_tokenizer(model: "SentenceTransformer") -> "tokenizers.Tokenizer":
    import tokenizers

    tokenizer = getattr(model.tokenizer, "backend_tokenizer", model.tokenizer)
    if not isinstance(tokenizer, tokenizers.Tokenizer):
        message = "the encoder has no fast tokenizer, so chunks cannot be placed in their text"
        raise EncoderError(message)
    return tokenizer


def _max_length(model: "SentenceTransformer") -> int:
    if model.max_seq_length is None:
        message = "the encoder does not state its max_seq_length"
        raise EncoderError(message)
    return int(min(model.max_seq_length, _NO_LIMIT))


def _dim(model: "SentenceTransformer") -> int:
    dim = model.get_embedding_dimension()
    if dim is None:
        message = "the encoder does not state the length of its vectors"
        raise EncoderError(message)
    return dim
