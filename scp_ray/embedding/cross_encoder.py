"""The ``Reranker`` port over a sentence-transformers cross-encoder."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from scp_ray.embedding.model_folder import expanded, find_model_folder, model_revision
from scp_ray.embedding.model_loading import load_from_folder
from scp_ray.embedding.subword_tokenizer import SubwordTokenizer
from scp_ray.embedding.text_windows import text_windows
from scp_ray.errors import EncoderError
from scp_ray.protocols import Float32Array, Float64Array
from scp_ray.sections import EmbeddingConfig

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_DEFAULT_ORGANIZATION: Final = "cross-encoder"
_CLASSIFIER: Final = "ForSequenceClassification"
_TEXT_SHARE: Final = 4  # the text has at least one part in so many of the model's length
_NO_LIMIT: Final = 2**31 - 1  # models without positions state more


class CrossEncoderReranker:
    """Scores pairs of a question and a text with a cross-encoder.

    A score is the model's raw logit: it orders as the sigmoid does, which would round high ones to
    the same number. A text that does not fit the model beside the question is scored in windows
    that overlap by half and cover it, and gets the best of their scores, so that nothing is cut
    off. Each distinct text is scored once, so that copies of it have exactly one score.

    One instance belongs to one process. Its threads take turns, because the library changes the
    state of the tokenizer while it works.

    Attributes:
        name: Model name or folder, as the settings give it.
        revision: SHA-256 over weights, tokenizer, module configuration and dtype.

    Source: MaxP, Dai and Callan (arXiv:1905.09217), there over windows of 150 words with a stride
        of 75. Windows of what the model takes are our choice.
    """

    def __init__(self, name: str, revision: str, model: "CrossEncoder", batch_size: int) -> None:
        self.name = name
        self.revision = revision
        self._model = model
        self._batch_size = batch_size
        self._turn = threading.Lock()
        tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
        if tokenizer is None or model.max_seq_length is None:
            message = f"reranker {name!r} has no fast tokenizer, or states no maximum length"
            raise EncoderError(message)
        self._tokenizer = SubwordTokenizer(tokenizer)
        self._prompt = model.prompts.get(model.default_prompt_name or "") or ""
        max_length = int(min(model.max_seq_length, _NO_LIMIT))
        self._room: int = max_length - tokenizer.num_special_tokens_to_add(is_pair=True)
        self._most_question_tokens = self._room - max_length // _TEXT_SHARE

    def score(self, question: str, texts: Sequence[str]) -> Float64Array:
        """Return one score a text, shape (n,), float64, higher is better, in the order given.

        Raises:
            EncoderError: If the question leaves less than a quarter of the model's length to the
                text, or a score is not finite; the index of the text is named.
        """
        room = self._room_beside(question)
        windows = {text: text_windows(text, room, self._tokenizer) for text in texts}
        pairs = [(question, window) for parts in windows.values() for window in parts]
        logits = iter(self._logits(pairs) if pairs else [])
        best = {text: _best([next(logits) for _ in parts]) for text, parts in windows.items()}
        scores = np.array([best[text] for text in texts], dtype=np.float64)
        unusable = np.flatnonzero(~np.isfinite(scores))
        if unusable.size:
            which = f"text {unusable[0]} of {len(texts)}"
            message = f"reranker {self.name!r} gave no finite score for {which}"
            raise EncoderError(message)
        return scores

    def _room_beside(self, question: str) -> int:
        (count,) = self._tokenizer.count_tokens([self._prompt + question])
        if count > self._most_question_tokens:
            message = (
                f"the question has {count} tokens, but reranker {self.name!r} takes at most "
                f"{self._most_question_tokens}"
            )
            raise EncoderError(message)
        return self._room - count

    def _logits(self, pairs: list[tuple[str, str]]) -> list[float]:
        import torch

        with self._turn:
            logits: Float32Array = self._model.predict(
                pairs,
                batch_size=self._batch_size,
                show_progress_bar=False,
                activation_fn=torch.nn.Identity(),
                processing_kwargs={"text": {"truncation": False}},  # all windows fit
            )
        scores: list[float] = logits.tolist()
        return scores


def load_cross_encoder(
    model: str, config: EmbeddingConfig, *, num_threads: int
) -> CrossEncoderReranker:
    """Load a cross-encoder with the dtype, device and batch size of the encoder's settings.

    Args:
        model: Folder, or name on the model hub (without an organization: cross-encoder's).
        config: The encoder's settings; its ``model`` is not used.
        num_threads: CPU threads of this process; 0 leaves torch's own choice.

    Raises:
        EncoderError: If the model is not there, cannot be loaded, or is not one that was trained
            to give one score to a pair of texts; the message says what to do.
    """
    folder = _model_folder(model)
    revision = model_revision(folder, config.dtype)
    loaded = _load(model, folder, config)
    _refuse_other_models(model, loaded)
    if num_threads:
        import torch

        torch.set_num_threads(num_threads)
    return CrossEncoderReranker(model, revision, loaded, config.batch_size)


def _best(scores: list[float]) -> float:
    return float(np.max(scores))  # unlike max(), keeps NaN


def _model_folder(model: str) -> Path:
    if expanded(model).is_dir():
        return find_model_folder(model)
    name = model if "/" in model else f"{_DEFAULT_ORGANIZATION}/{model}"
    try:
        return find_model_folder(name)
    except EncoderError as error:
        reason = error.__cause__ or error
        message = (
            f"cannot load reranker {model!r}: it is no folder, and the model hub did not give it "
            f"({reason}); name a folder with a cross-encoder, or leave the reranker out"
        )
        raise EncoderError(message) from error


def _load(model: str, folder: Path, config: EmbeddingConfig) -> "CrossEncoder":
    from sentence_transformers import CrossEncoder

    loaded: CrossEncoder = load_from_folder(CrossEncoder, folder, config, f"reranker {model!r}")
    return loaded


def _refuse_other_models(model: str, loaded: "CrossEncoder") -> None:
    if loaded.num_labels != 1:
        message = (
            f"reranker {model!r} gives {loaded.num_labels} numbers a pair; it must be a "
            "cross-encoder that gives one score (num_labels 1)"
        )
        raise EncoderError(message)
    saved_as = (getattr(loaded.config, "architectures", None) or ["no stated architecture"])[0]
    # A lone transformer that was saved without its classifier is loaded with a random one.
    if len(loaded) == 1 and not saved_as.endswith(_CLASSIFIER):
        message = (
            f"{model!r} is no reranker: it was saved as {saved_as}, without the part that scores a "
            "pair of texts; name a cross-encoder"
        )
        raise EncoderError(message)
