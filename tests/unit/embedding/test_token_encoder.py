"""Vectors of tokens, and BERTScore from them against the bert-score library."""

from pathlib import Path

import numpy as np
import pytest

from scp_ray.embedding.model_folder import find_model_folder
from scp_ray.embedding.token_encoder import TokenEncoder
from scp_ray.errors import EncoderError
from scp_ray.evaluation.generation.bert_score import bert_score

ANSWERS = [
    "Rinse the tank weekly.",
    "The lamp is green (230 V).",
    "word " * 600,
    " Hello — wörld, 水",
]
REFERENCES = [
    "Clean the water tank every week.",
    "Red light glows at 230 volts",
    "word other " * 300,
    "hello world",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    return find_model_folder("all-MiniLM-L6-v2")


def test_vectors_have_norm_1_and_know_their_marks(folder: Path) -> None:
    encoder = TokenEncoder(folder, "cpu")
    (vectors, is_text), (_, is_nothing) = encoder.encode(["Clean the tank.", ""])
    assert vectors.shape == (6, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert is_text.tolist() == [False, True, True, True, True, False]
    assert not is_nothing.any()


def test_a_text_does_not_depend_on_its_batch(folder: Path) -> None:
    encoder = TokenEncoder(folder, "cpu")
    together = encoder.encode(["Rinse the tank.", "Let it dry for an hour in the sun.", "Stop."])
    alone = encoder.encode(["Rinse the tank."])[0]
    assert np.allclose(together[0].vectors, alone.vectors, atol=1e-5)


def test_long_texts_are_cut_and_can_be_told(folder: Path) -> None:
    encoder = TokenEncoder(folder, "cpu")
    assert encoder.num_tokens("word " * 700) == 702
    assert encoder.encode(["word " * 700])[0].vectors.shape == (encoder.max_tokens, 384)


@pytest.mark.parametrize("layer", [6, 4])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of matplotlib, which the library needs
def test_bert_score_is_that_of_the_library(folder: Path, layer: int) -> None:
    import bert_score as library

    encoder = TokenEncoder(folder, "cpu", layer)
    pairs = zip(encoder.encode(ANSWERS), encoder.encode(REFERENCES), strict=True)
    ours = [bert_score(answer, reference) for answer, reference in pairs]
    _, _, theirs = library.score(
        ANSWERS, REFERENCES, model_type=str(folder), num_layers=layer, device="cpu"
    )
    assert ours == pytest.approx(theirs.tolist(), abs=1e-4)


def test_a_layer_that_the_model_does_not_have_is_refused(folder: Path) -> None:
    with pytest.raises(EncoderError, match="has 6 layers, there is no layer 7"):
        TokenEncoder(folder, "cpu", 7)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="holds no model that reads texts"):
        TokenEncoder(tmp_path, "cpu")
