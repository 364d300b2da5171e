"""The sentence-transformers encoder, on a tiny random model."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from scp_ray.embedding.sentence_transformer import (
    SentenceTransformerEncoder,
    load_sentence_transformer,
)
from scp_ray.errors import EncoderError
from scp_ray.sections import Dtype, EmbeddingConfig

TEXTS = ["the pump", "", "a valve in the pump", "p", "the valve. " * 5, "pump 12"]


def _load(folder: Path, **settings: object) -> SentenceTransformerEncoder:
    config = EmbeddingConfig.model_validate({"model": str(folder), "device": "cpu", **settings})
    return load_sentence_transformer(config, num_threads=0)


@pytest.fixture(scope="module")
def encoder(tiny_model: Path) -> SentenceTransformerEncoder:
    return _load(tiny_model, batch_size=2)


def test_embeddings_are_those_of_the_library_scaled_to_one(
    encoder: SentenceTransformerEncoder, tiny_model: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    bare = SentenceTransformer(str(tiny_model), device="cpu")
    expected = bare.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    embeddings = encoder.encode(TEXTS)
    assert embeddings.dtype == np.float32
    assert embeddings.shape == (len(TEXTS), encoder.dim)
    np.testing.assert_allclose(embeddings, expected, atol=1e-6)


def test_no_text_gives_no_row(encoder: SentenceTransformerEncoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_longest_text_fits_and_one_token_more_is_refused(
    encoder: SentenceTransformerEncoder,
) -> None:
    longest = "pump " * encoder.max_tokens
    changed = longest[:-5] + "valve"
    first, second = encoder.encode([longest, changed])
    assert np.abs(first - second).max() > 1e-3  # the last token was seen
    message = f"text 1 of 2 has {encoder.max_tokens + 1} tokens, .* at most {encoder.max_tokens}"
    with pytest.raises(EncoderError, match=message):
        encoder.encode(["short", longest + "pump"])


def test_prompts_go_to_their_kind_of_text(save_tiny_model: Callable[..., Path]) -> None:
    plain = _load(save_tiny_model())
    prompted = _load(save_tiny_model({"query": "the query: ", "passage": "passage: "}))
    for encode, prompt in [(prompted.encode, "passage: "), (prompted.encode_query, "the query: ")]:
        np.testing.assert_allclose(
            encode(TEXTS[:4]), plain.encode([prompt + text for text in TEXTS[:4]]), atol=1e-6
        )
    np.testing.assert_array_equal(plain.encode_query(TEXTS), plain.encode(TEXTS))


def test_prompt_counts_against_the_length(save_tiny_model: Callable[..., Path]) -> None:
    plain = _load(save_tiny_model())
    prompted = _load(save_tiny_model({"document": "the pump: "}))
    assert prompted.max_tokens == plain.max_tokens - 3
    prompted.encode(["pump " * prompted.max_tokens])
    with pytest.raises(EncoderError, match="text 0 of 1 has"):
        prompted.encode(["pump " * (prompted.max_tokens + 1)])


def test_bfloat16_is_near_float32_and_another_revision(
    encoder: SentenceTransformerEncoder, tiny_model: Path
) -> None:
    half = _load(tiny_model, dtype=Dtype.BFLOAT16)
    embeddings = half.encode(TEXTS)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1.0, atol=1e-6)
    assert (embeddings * encoder.encode(TEXTS)).sum(axis=1).min() > 0.999
    assert half.revision != encoder.revision


def test_model_that_gives_nonsense_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(tiny_model, tmp_path / "model")
    weights = load_file(broken / "model.safetensors")
    weights["embeddings.word_embeddings.weight"][-2] = float("nan")  # the word "pump"
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    encoder = _load(broken)
    encoder.encode(["the valve"])
    with pytest.raises(EncoderError, match="no usable vector for text 1 of 3"):
        encoder.encode(["the valve", "the pump", "the valve"])


def test_models_without_a_length_limit_take_any_text(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "pump": 1, "valve": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    static = StaticEmbedding(tokenizer, embedding_weights=np.eye(3, 8, dtype=np.float32))
    SentenceTransformer(modules=[static], device="cpu").save(str(tmp_path), create_model_card=False)
    encoder = _load(tmp_path)
    embeddings = encoder.encode(["pump " * 10_000, "valve"])
    np.testing.assert_allclose(embeddings, np.eye(3, 8)[1:], atol=1e-6)


def test_threads_are_set(tiny_model: Path) -> None:
    import torch

    before = torch.get_num_threads()
    config = EmbeddingConfig(model=str(tiny_model), device="cpu")
    try:
        load_sentence_transformer(config, num_threads=1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokenizer": object()}, "no fast tokenizer"),
        ({"max_seq_length": None}, "does not state its max_seq_length"),
        ({"get_embedding_dimension": lambda: None}, "does not state the length of its vectors"),
    ],
)
def test_models_that_say_too_little_are_refused(
    tiny_model: Path, change: dict[str, object], message: str
) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(tiny_model), device="cpu")
    stated = {
        "prompts": model.prompts,
        "tokenizer": model.tokenizer,
        "max_seq_length": model.max_seq_length,
        "get_embedding_dimension": model.get_embedding_dimension,
    }
    with pytest.raises(EncoderError, match=message):
        SentenceTransformerEncoder("m", "r", SimpleNamespace(**{**stated, **change}), 8)
