"""Vectors of single tokens, as BERTScore compares them, from any model of transformers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from scp_ray.embedding.model_loading import no_progress_bar, torch_device
from scp_ray.errors import EncoderError
from scp_ray.protocols import Float32Array

if TYPE_CHECKING:
    import torch

_BATCH: Final = 32


class TokenVectors(NamedTuple):
    """The tokens of one text.

    Attributes:
        vectors: Shape (n, dim), float32, unit norm.
        is_text: Shape (n,); False for the marks that the model puts around a text.
    """

    vectors: Float32Array
    is_text: npt.NDArray[np.bool_]


class TokenEncoder:
    """A model that reads a text and gives a vector for each of its tokens.

    Attributes:
        layer: The layer whose output is taken, from 1.
        max_tokens: Most tokens of a text, marks counted; of longer ones the beginning is read.
    """

    def __init__(self, folder: Path, device: str, layer: int | None = None) -> None:
        """Load the model: safetensors only, no code of the model's.

        Args:
            folder: Holds model and tokenizer in the form of transformers.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
            layer: From 1; None = the last one.

        Raises:
            EncoderError: If the folder does not hold such a model, or it has no such layer.
        """
        from safetensors import SafetensorError
        from transformers import AutoModel, AutoTokenizer

        try:
            with no_progress_bar():
                model = AutoModel.from_pretrained(
                    folder, use_safetensors=True, local_files_only=True, trust_remote_code=False
                )
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            message = f"{folder} holds no model that reads texts: {str(error).splitlines()[0]}"
            raise EncoderError(message) from error
        num_layers = int(model.config.num_hidden_layers)
        self.layer = num_layers if layer is None else layer
        if not 1 <= self.layer <= num_layers:
            message = f"{folder} has {num_layers} layers, there is no layer {layer}"
            raise EncoderError(message)
        limit = int(model.config.max_position_embeddings)
        self.max_tokens = min(limit, int(self._tokenizer.model_max_length))
        self._marks = [self._tokenizer.cls_token_id, self._tokenizer.sep_token_id]
        self._model = model.to(torch_device(device)).eval()

    def encode(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text, in the order given; white space around a text is not."""
        by_length = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        found: dict[int, TokenVectors] = {}
        for first in range(0, len(by_length), _BATCH):
            rows = by_length[first : first + _BATCH]
            batch = [texts[row].strip() for row in rows]
            found.update(zip(rows, self._encode_batch(batch), strict=True))
        return [found[row] for row in range(len(texts))]

    def num_tokens(self, text: str) -> int:
        """Return the tokens of a whole text, marks counted."""
        return len(self._tokenizer(text.strip(), verbose=False)["input_ids"])

    def _encode_batch(self, texts: list[str]) -> "list[TokenVectors]":
        import torch

        tokens = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_tokens, return_tensors="pt"
        ).to(self._model.device)
        with torch.inference_mode():
            hidden = self._model(**tokens, output_hidden_states=True).hidden_states[self.layer]
            unit = torch.nn.functional.normalize(hidden.float(), dim=-1).cpu()
        return [
            self._of_text(*one)
            for one in zip(unit, tokens["input_ids"], tokens["attention_mask"], strict=True)
        ]

    def _of_text(
        self, unit: "torch.Tensor", token_ids: "torch.Tensor", mask: "torch.Tensor"
    ) -> TokenVectors:
        is_there = mask.bool().cpu().numpy()
        is_mark = np.isin(token_ids.cpu().numpy(), self._marks)
        return TokenVectors(unit.numpy()[is_there], ~is_mark[is_there])
