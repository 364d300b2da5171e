"""Loading a model from its folder."""

import json
import shutil
from pathlib import Path

import pytest

from scp_ray.embedding.model_loading import load_model
from scp_ray.errors import EncoderError
from scp_ray.sections import Dtype, EmbeddingConfig


def _config(device: str = "cpu", dtype: Dtype = Dtype.FLOAT32) -> EmbeddingConfig:
    return EmbeddingConfig(model="tiny", device=device, dtype=dtype)


def test_loads_quietly_in_the_asked_dtype(
    tiny_model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import torch

    model = load_model(tiny_model, _config(dtype=Dtype.BFLOAT16))
    assert model.dtype == torch.bfloat16
    assert capfd.readouterr() == ("", "")


def test_progress_bars_are_as_before_afterwards(tiny_model: Path) -> None:
    from transformers.utils import logging

    before = logging.is_progress_bar_enabled()
    try:
        for enable in (logging.enable_progress_bar, logging.disable_progress_bar):
            enable()
            wanted = logging.is_progress_bar_enabled()
            load_model(tiny_model, _config())
            assert logging.is_progress_bar_enabled() == wanted
    finally:
        (logging.enable_progress_bar if before else logging.disable_progress_bar)()


def test_automatic_device_is_where_torch_has_one(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert load_model(tiny_model, _config("auto")).device.type == "cpu"
    with pytest.raises(EncoderError, match=r"embedding\.device is cuda:1, but torch finds no CUDA"):
        load_model(tiny_model, _config("cuda:1"))


@pytest.mark.parametrize("damage", ["truncate", "remove", "garble"])
def test_damaged_folders_are_refused_by_name(tiny_model: Path, tmp_path: Path, damage: str) -> None:
    broken = shutil.copytree(tiny_model, tmp_path / "model")
    weights = broken / "model.safetensors"
    if damage == "truncate":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif damage == "remove":
        weights.unlink()
    else:
        (broken / "config.json").write_text("{")
    with pytest.raises(EncoderError, match=f"cannot load encoder 'tiny' from {broken}: "):
        load_model(broken, _config())


def test_code_that_comes_with_a_model_is_not_run(tiny_model: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(tiny_model, tmp_path / "model")
    (broken / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    modules = json.loads((broken / "modules.json").read_text())
    modules[0]["type"] = "evil.Transformer"
    (broken / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(EncoderError, match="cannot load encoder 'tiny'"):
        load_model(broken, _config())
    assert not (tmp_path / "ran").exists()
