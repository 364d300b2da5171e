"""From the settings to the encoder, or to its tokenizer alone."""

import hashlib
from pathlib import Path

from scp_ray.embedding.hash_encoder import HASH_SCHEME, HashEncoder, hash_encoder_from_name
from scp_ray.embedding.model_folder import find_model_folder, packaged_folder
from scp_ray.embedding.sentence_transformer import (
    SentenceTransformerEncoder,
    load_sentence_transformer,
)
from scp_ray.embedding.subword_tokenizer import SubwordTokenizer
from scp_ray.errors import EncoderError
from scp_ray.protocols import Tokenizer
from scp_ray.sections import EmbeddingConfig

_TOKENIZER_FILE = "tokenizer.json"
# The second has no token of its own: some tokenizers fail at what they do not know.
_PROBES = ["A plain text.", "text \U0010fffd"]


def load_encoder(
    config: EmbeddingConfig, *, num_threads: int | None = None
) -> SentenceTransformerEncoder | HashEncoder:
    """Load the encoder that the settings name.

    Args:
        config: The encoder's settings; ``model`` is a folder, a sentence-transformers name, or
            ``hash://<dim>``, the encoder for tests.
        num_threads: CPU threads of this process; None = as the settings say, 0 = torch's choice.

    Raises:
        EncoderError: If the model is not there or cannot be used; the message says what to do.
    """
    if config.model.startswith(HASH_SCHEME):
        return hash_encoder_from_name(config.model)
    threads = config.num_threads if num_threads is None else num_threads
    return load_sentence_transformer(config, num_threads=threads)


def load_tokenizer(config: EmbeddingConfig) -> Tokenizer:
    """Load the tokenizer of the encoder that the settings name, and keep nothing else of it.

    A packaged model's tokenizer file is read by itself, without torch. Any other model is loaded
    to get at its tokenizer, because libraries change tokenizers as they load them.

    Raises:
        EncoderError: As ``load_encoder``.
    """
    if config.model.startswith(HASH_SCHEME):
        return hash_encoder_from_name(config.model).tokenizer
    folder = find_model_folder(config.model)
    if folder == packaged_folder(config.model):
        return SubwordTokenizer.from_file(folder / _TOKENIZER_FILE)
    return load_encoder(config.model_copy(update={"device": "cpu"})).tokenizer


def named_tokenizer_revision(name: str | None) -> str:
    """Return what tells a tokenizer from others: of a file its SHA-256, else its name."""
    if name is None:
        return ""
    path = Path(name).expanduser()
    file = path / _TOKENIZER_FILE if path.is_dir() else path
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else name


def load_named_tokenizer(name: str) -> Tokenizer:
    """Load a tokenizer by itself, such as that of the LLM that will read a context.

    Args:
        name: A ``tokenizer.json``, a folder that holds one, or a name on the model hub.

    Raises:
        EncoderError: If it is nowhere, or not a fast tokenizer.
    """
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            path /= _TOKENIZER_FILE
        elif not path.is_file():
            from huggingface_hub import hf_hub_download

            path = Path(hf_hub_download(name, _TOKENIZER_FILE))
        tokenizer = SubwordTokenizer.from_file(path)
        counts = tokenizer.count_tokens(_PROBES)
    except Exception as error:
        message = (
            f"cannot load the tokenizer {name!r} ({error}); set "
            "context.tokenizer to a folder with a tokenizer.json, or leave it out"
        )
        raise EncoderError(message) from error
    if not all(counts):
        message = f"the tokenizer {name!r} finds no token in a plain text; name another"
        raise EncoderError(message)
    return tokenizer
