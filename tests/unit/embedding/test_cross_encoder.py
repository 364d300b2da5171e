"""The cross-encoder reranker, on a tiny one of random weights."""

import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from scp_ray.embedding.cross_encoder import CrossEncoderReranker, load_cross_encoder
from scp_ray.errors import EncoderError
from scp_ray.sections import Dtype, EmbeddingConfig

QUESTION = "the valve"
TEXTS = ["the pump", "", "a valve in the pump", "p", "the valve. " * 5, "pump 12"]
MAX_LENGTH = 64
SPECIAL_TOKENS = 3
ROOM = MAX_LENGTH - SPECIAL_TOKENS - 2  # beside the two words of the question


def _load(model: Path | str, **settings: object) -> CrossEncoderReranker:
    config = EmbeddingConfig.model_validate({"device": "cpu", **settings})
    return load_cross_encoder(str(model), config, num_threads=0)


def _bare_logits(folder: Path, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
    import torch
    from sentence_transformers import CrossEncoder

    bare = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    return np.asarray(bare.predict(list(pairs), show_progress_bar=False))


@pytest.fixture(scope="module")
def reranker(tiny_cross_encoder: Path) -> CrossEncoderReranker:
    return _load(tiny_cross_encoder, batch_size=2)


def test_scores_are_the_raw_logits_of_the_library(
    reranker: CrossEncoderReranker, tiny_cross_encoder: Path
) -> None:
    expected = _bare_logits(tiny_cross_encoder, [(QUESTION, text) for text in TEXTS])
    scores = reranker.score(QUESTION, TEXTS)
    assert scores.dtype == np.float64
    assert scores.shape == (len(TEXTS),)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert np.ptp(scores) > 0.5
    assert scores.max() > 1.0  # no sigmoid


def test_a_score_does_not_depend_on_the_other_texts(reranker: CrossEncoderReranker) -> None:
    together = reranker.score(QUESTION, [*TEXTS, "pump " * 500])
    for text, score in zip(TEXTS, together, strict=False):
        np.testing.assert_allclose(reranker.score(QUESTION, [text]), [score], atol=1e-5)


def test_copies_of_a_text_have_exactly_one_score(reranker: CrossEncoderReranker) -> None:
    scores = reranker.score(QUESTION, ["the pump", *TEXTS, *TEXTS[::-1], "the pump"])
    assert scores[0] == scores[1] == scores[-1]
    np.testing.assert_array_equal(scores[1:7], scores[7:13][::-1])


def test_long_text_has_the_best_score_of_its_windows(
    reranker: CrossEncoderReranker, tiny_cross_encoder: Path
) -> None:
    words = ["the", "pump", "valve", "p"] * 50
    words[140:150] = ["valve"] * 10
    stride = ROOM // 2
    starts = range(0, len(words) - ROOM + stride, stride)
    windows = [" ".join(words[start : start + ROOM]) for start in starts]
    expected = _bare_logits(tiny_cross_encoder, [(QUESTION, window) for window in windows])
    assert np.ptp(expected) > 0.01
    (score,) = reranker.score(QUESTION, [" ".join(words)])
    np.testing.assert_allclose(score, expected.max(), atol=1e-5)


def test_text_that_just_fits_is_read_whole(
    reranker: CrossEncoderReranker, tiny_cross_encoder: Path
) -> None:
    whole = "pump " * (ROOM - 1) + "valve"
    expected = _bare_logits(tiny_cross_encoder, [(QUESTION, whole)])
    np.testing.assert_allclose(reranker.score(QUESTION, [whole]), expected, atol=1e-5)
    other = reranker.score(QUESTION, [whole[:-5] + "the"])
    assert abs(float(other[0]) - float(expected[0])) > 1e-3  # the last token was seen


class _RecordingModel(SimpleNamespace):
    """A cross-encoder's outside, with scores that are written down; keeps what it was asked."""

    def predict(self, pairs: list[tuple[str, str]], **options: Any) -> npt.NDArray[np.float32]:
        self.pairs = pairs
        self.options = options
        return np.array([self.score_of(text) for _, text in pairs], dtype=np.float32)


def _recording(folder: Path, score_of: Callable[[str], float]) -> _RecordingModel:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu")
    stated = {name: getattr(model, name) for name in ("tokenizer", "max_seq_length", "prompts")}
    return _RecordingModel(**stated, default_prompt_name=None, score_of=score_of)


def test_every_word_of_a_long_text_is_read_and_no_pair_is_too_long(
    tiny_cross_encoder: Path,
) -> None:
    model = _recording(tiny_cross_encoder, lambda text: float("w777" in text))
    reranker = CrossEncoderReranker("m", "r", model, 8)  # type: ignore[arg-type]
    words = [f"w{number}" for number in range(1000)]
    scores = reranker.score("the pump", ["valve", " ".join(words)])
    assert scores.tolist() == [0.0, 1.0]
    lengths = [len(ids) for ids in model.tokenizer(model.pairs)["input_ids"]]
    assert max(lengths) <= MAX_LENGTH
    read = " ".join(text for _, text in model.pairs)
    assert all(word in read for word in words)


def test_question_must_leave_a_quarter_to_the_text(reranker: CrossEncoderReranker) -> None:
    most = MAX_LENGTH - SPECIAL_TOKENS - MAX_LENGTH // 4
    assert np.isfinite(reranker.score("pump " * most, ["valve " * 100])).all()
    message = f"question has {most + 1} tokens, but reranker .* takes at most {most}"
    with pytest.raises(EncoderError, match=message):
        reranker.score("pump " * (most + 1), ["valve"])


def test_prompt_of_the_model_goes_before_the_question(
    save_tiny_cross_encoder: Callable[..., Path], reranker: CrossEncoderReranker
) -> None:
    prompted = _load(save_tiny_cross_encoder(prompt="the pump: "))
    expected = reranker.score("the pump: " + QUESTION, [*TEXTS, "valve " * 100])
    scores = prompted.score(QUESTION, [*TEXTS, "valve " * 100])
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_bfloat16_is_near_float32_and_another_revision(
    reranker: CrossEncoderReranker, tiny_cross_encoder: Path
) -> None:
    half = _load(tiny_cross_encoder, dtype=Dtype.BFLOAT16)
    difference = half.score(QUESTION, TEXTS) - reranker.score(QUESTION, TEXTS)
    assert 0 < np.abs(difference).max() < 0.5
    assert half.revision != reranker.revision


def test_name_and_revision_tell_models_apart(
    reranker: CrossEncoderReranker,
    tiny_cross_encoder: Path,
    save_tiny_cross_encoder: Callable[..., Path],
) -> None:
    assert reranker.name == str(tiny_cross_encoder)
    assert _load(tiny_cross_encoder).revision == reranker.revision
    assert _load(save_tiny_cross_encoder()).revision == reranker.revision  # the same files
    assert _load(save_tiny_cross_encoder(prompt="the: ")).revision != reranker.revision


def test_scores_that_are_not_finite_name_the_text(tiny_cross_encoder: Path) -> None:
    model = _recording(tiny_cross_encoder, lambda text: math.nan if "pump" in text else 1.0)
    reranker = CrossEncoderReranker("m", "r", model, 8)  # type: ignore[arg-type]
    assert reranker.score("valve", ["the", "valve"]).tolist() == [1.0, 1.0]
    message = "reranker 'm' gave no finite score for text 1 of 3"
    with pytest.raises(EncoderError, match=message):
        reranker.score("valve", ["the", "valve " * 200 + "pump", "pump"])


@pytest.mark.parametrize("change", [{"tokenizer": object()}, {"max_seq_length": None}])
def test_models_that_say_too_little_are_refused(
    tiny_cross_encoder: Path, change: dict[str, object]
) -> None:
    model = _recording(tiny_cross_encoder, len)
    vars(model).update(change)
    with pytest.raises(EncoderError, match="'m' has no fast tokenizer, or states no maximum"):
        CrossEncoderReranker("m", "r", model, 8)  # type: ignore[arg-type]


def test_models_of_several_labels_are_refused(
    save_tiny_cross_encoder: Callable[..., Path],
) -> None:
    folder = save_tiny_cross_encoder(num_labels=3)
    with pytest.raises(EncoderError, match=f"reranker '{folder}' gives 3 numbers a pair"):
        _load(folder)


def test_an_encoder_is_no_reranker(tiny_model: Path) -> None:
    with pytest.raises(EncoderError, match="is no reranker: it was saved as BertModel, without"):
        _load(tiny_model)


def test_name_that_is_nowhere_says_what_to_do() -> None:
    message = r"(?s)cannot load reranker 'no-such-model': it is no folder, .*; name a folder with"
    with pytest.raises(EncoderError, match=message):
        _load("no-such-model")
    with pytest.raises(EncoderError, match="cannot load reranker 'some/model': it is no folder"):
        _load("some/model")


@pytest.mark.parametrize(
    ("name", "repository"),
    [("small", "cross-encoder/small"), ("some/model", "some/model")],
)
def test_names_without_an_organization_are_cross_encoders(
    tiny_cross_encoder: Path, monkeypatch: pytest.MonkeyPatch, name: str, repository: str
) -> None:
    import huggingface_hub

    hub = {repository: str(tiny_cross_encoder)}
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda asked, **_: hub[asked])
    reranker = _load(name)
    assert reranker.name == name
    assert np.isfinite(reranker.score(QUESTION, TEXTS)).all()


def test_broken_folder_is_named(tiny_cross_encoder: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(tiny_cross_encoder, tmp_path / "model")
    (broken / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(EncoderError, match=f"cannot load reranker '{broken}' from {broken}: "):
        _load(broken)


def test_pickled_weights_are_refused(tiny_cross_encoder: Path, tmp_path: Path) -> None:
    pickled = shutil.copytree(tiny_cross_encoder, tmp_path / "model")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(EncoderError, match="weights must be safetensors"):
        _load(pickled)


def test_threads_are_set(tiny_cross_encoder: Path) -> None:
    import torch

    before = torch.get_num_threads()
    try:
        load_cross_encoder(str(tiny_cross_encoder), EmbeddingConfig(device="cpu"), num_threads=1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
