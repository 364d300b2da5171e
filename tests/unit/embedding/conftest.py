"""A sentence-transformers model small enough for unit tests: one layer, random weights."""

import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MAX_SEQ_LENGTH = 32


def _vocabulary() -> dict[str, int]:
    letters = string.ascii_lowercase + string.digits + ":."
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = [*special, *letters, *(f"##{letter}" for letter in letters), "the", "pump", "valve"]
    return {token: number for number, token in enumerate(tokens)}


@pytest.fixture(scope="session")
def save_tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that saves a model, with prompts if wanted, and returns its folder."""

    def save(prompts: dict[str, str] | None = None) -> Path:
        import torch
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
        from transformers import BertConfig, BertModel, BertTokenizer

        torch.manual_seed(0)
        vocabulary = _vocabulary()
        sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32}
        config = BertConfig(
            vocab_size=len(vocabulary),
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=64,
            **sizes,
        )
        parts = tmp_path_factory.mktemp("parts")
        BertModel(config).save_pretrained(parts)
        BertTokenizer(vocab=vocabulary).save_pretrained(parts)
        transformer = Transformer(str(parts), max_seq_length=MAX_SEQ_LENGTH)
        model = SentenceTransformer(
            modules=[transformer, Pooling(16)], device="cpu", prompts=prompts
        )
        folder = tmp_path_factory.mktemp("model")
        model.save(str(folder), create_model_card=False)
        return folder

    return save


@pytest.fixture(scope="session")
def tiny_model(save_tiny_model: Callable[..., Path]) -> Path:
    return save_tiny_model()
