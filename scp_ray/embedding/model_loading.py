"""Loads a sentence-transformers model from a folder: safetensors only, no code of the model's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from scp_ray.errors import EncoderError
from scp_ray.sections import EmbeddingConfig

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


Model = TypeVar("Model")


def load_model(folder: Path, config: EmbeddingConfig) -> "SentenceTransformer":
    """Load the model in ``folder`` with the dtype and on the device of the settings.

    Raises:
        EncoderError: If the device is not there or the folder does not hold a usable model.
    """
    from sentence_transformers import SentenceTransformer

    return load_from_folder(SentenceTransformer, folder, config, f"encoder {config.model!r}")


def load_from_folder(
    kind: Callable[..., Model], folder: Path, config: EmbeddingConfig, what: str
) -> Model:
    """Load a model of a class of the library, with the dtype and on the device of the settings.

    Args:
        kind: ``SentenceTransformer`` or ``CrossEncoder``.
        folder: Holds the model.
        config: Gives dtype and device.
        what: What it is and its name, for messages.

    Raises:
        EncoderError: If the device is not there or the folder does not hold a usable model.
    """
    import torch
    from safetensors import SafetensorError

    device = torch_device(config.device)
    try:
        with no_progress_bar():
            return kind(
                str(folder),
                device=device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"dtype": getattr(torch, config.dtype), "use_safetensors": True},
            )
    except (OSError, ValueError, RuntimeError, ImportError, LookupError, SafetensorError) as error:
        message = f"cannot load {what} from {folder}: {error}"
        raise EncoderError(message) from error


def torch_device(wanted: str) -> str:
    """Return the device that ``embedding.device`` means here.

    Raises:
        EncoderError: If it is a GPU that is not here.
    """
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted != "cpu" and not torch.cuda.is_available():
        message = f"embedding.device is {wanted}, but torch finds no CUDA device here"
        raise EncoderError(message)
    return wanted


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Keep the library from drawing a bar while it loads a model."""
    from transformers.utils import logging

    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
