"""Finding a model's folder, and what identifies it."""

import hashlib
import importlib.util
import os
from importlib.machinery import ModuleSpec
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from scp_ray.embedding import model_folder
from scp_ray.embedding.model_folder import (
    PackagedModel,
    file_sha256,
    find_model_folder,
    model_revision,
    packaged_folder,
)
from scp_ray.errors import EncoderError
from scp_ray.sections import Dtype

WEIGHTS = b"weights"


def _save_model(folder: Path) -> Path:
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    for name in ("config.json", "tokenizer.json", "modules.json", "1_Pooling/config.json"):
        (folder / name).write_text(name)
    for name in ("README.md", "data_config.json", "train_script.py"):
        (folder / name).write_text("about")
    return folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package that brings the model ``tiny``; return its model folder."""
    origin = tmp_path / "tiny_package" / "__init__.py"
    folder = _save_model(origin.parent / "model")
    spec = ModuleSpec("tiny_package", None, origin=str(origin))
    monkeypatch.setattr(importlib.util, "find_spec", {"tiny_package": spec}.get)
    packaged = PackagedModel("tiny_package", hashlib.sha256(WEIGHTS).hexdigest())
    monkeypatch.setitem(model_folder.PACKAGED_MODELS, "tiny", packaged)
    return folder


def test_folder_comes_before_package(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_model_folder("tiny") == package
    monkeypatch.chdir(tmp_path)
    _save_model(tmp_path / "tiny")
    assert find_model_folder("tiny") == Path("tiny")


def test_package_with_other_weights_is_refused(package: Path) -> None:
    (package / "model.safetensors").write_bytes(b"weightz")
    with pytest.raises(EncoderError, match="'tiny' in package tiny_package are not the published"):
        find_model_folder("tiny")
    (package / "model.safetensors").unlink()
    with pytest.raises(EncoderError, match="install the package again"):
        packaged_folder("tiny")


def test_package_that_is_not_installed_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert packaged_folder("all-MiniLM-L6-v2") is None
    assert packaged_folder("no such model") is None


@pytest.mark.parametrize(
    ("model", "repository"),
    [("some-model", "sentence-transformers/some-model"), ("intfloat/e5", "intfloat/e5")],
)
def test_other_names_are_taken_from_the_hub(
    model: str, repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def snapshot(repo_id: str, **_patterns: object) -> str:
        return str(_save_model(tmp_path / repo_id))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert find_model_folder(model) == tmp_path / repository


def test_model_that_is_nowhere_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_repo_id: str, **_patterns: object) -> str:
        message = "no network\nand more lines"
        raise LocalEntryNotFoundError(message)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    message = r"'some-model': .*\(no network\); set embedding.model to a folder.*scp-ray\[offline\]"
    with pytest.raises(EncoderError, match=message):
        find_model_folder("some-model")


def test_weights_that_could_run_code_are_refused(tmp_path: Path) -> None:
    folder = _save_model(tmp_path / "model")
    (folder / "pytorch_model.bin").write_bytes(b"ignored beside safetensors")
    assert find_model_folder(str(folder)) == folder
    (folder / "1_Pooling" / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(EncoderError, match=r"1_Pooling/pytorch_model.bin: .* must be safetensors"):
        find_model_folder(str(folder))


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "tokenizer.json", "1_Pooling/config.json"]
)
def test_revision_changes_with_what_decides_the_output(tmp_path: Path, name: str) -> None:
    folder = _save_model(tmp_path / "model")
    before = model_revision(folder, Dtype.FLOAT32)
    (folder / name).write_bytes(b"other bytes than before")
    assert model_revision(folder, Dtype.FLOAT32) != before


def test_revision_depends_on_nothing_else(tmp_path: Path) -> None:
    folder, other = _save_model(tmp_path / "a"), _save_model(tmp_path / "b")
    for name in ("README.md", "data_config.json", "notes.txt"):
        (other / name).write_text("changed")
    assert model_revision(folder, Dtype.FLOAT32) == model_revision(other, Dtype.FLOAT32)
    assert model_revision(folder, Dtype.FLOAT32) != model_revision(folder, Dtype.BFLOAT16)


def test_file_hash_is_kept_until_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    assert file_sha256(path) == hashlib.sha256(b"one").hexdigest()
    status = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert file_sha256(path) == hashlib.sha256(b"two").hexdigest()
