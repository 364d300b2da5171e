"""The manifest: what one generation consists of. Written last, and never changed."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scp_ray.errors import IndexFormatError, StorageError
from scp_ray.protocols import ObjectStore
from scp_ray.sections import IndexConfig
from scp_ray.storage.checksums import read_verified
from scp_ray.storage.keys import (
    CURRENT,
    MANIFEST_FILE,
    TERMS_FILE,
    checked_key,
    generation_folder,
    shard_folder,
)

FORMAT_VERSION = 2

# Every file that is opened has to be among those whose checksums are compared.
SHARD_FILES = frozenset(
    {
        "chunks.arrow",
        "documents.parquet",
        "index.faiss",
        "nodes.npy",
        "lexical.terms.arrow",
        "lexical.rows.npy",
        "lexical.counts.npy",
        "lexical.dense.npy",
        "lexical.lengths.npy",
    }
)

# What a query needs to know of how the index was made.
_NEEDED_SETTINGS = frozenset({"num_shards", "ef_search", "stemmer", "search"})

Count = Annotated[int, Field(ge=0)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoredFile(_Stored):
    """Size and checksum of a file."""

    sha256: Sha256
    size_bytes: Count


class ShardEntry(_Stored):
    """One shard of a generation.

    Attributes:
        shard_id: 0-based.
        folder: Key of the folder of its files; None for a shard without documents.
        files: Each file by name.
        num_documents: Its documents.
        num_chunks: Its chunks, which are the rows of its files.
        recall: Recall@10 of the build audit, the worse of both passes.
    """

    shard_id: Count
    folder: str | None
    files: dict[str, StoredFile]
    num_documents: Count
    num_chunks: Count
    recall: Annotated[float, Field(ge=0.0, le=1.0)]

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 of each file by name."""
        return {name: file.sha256 for name, file in self.files.items()}

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.size_bytes for file in self.files.values())

    @property
    def is_whole(self) -> bool:
        """Whether it has no document, or all files in the folder that their content names."""
        if self.folder is None:
            return not (self.files or self.num_documents or self.num_chunks)
        named_by_content = shard_folder(self.shard_id, self.checksums)
        return self.files.keys() == SHARD_FILES and self.folder == named_by_content


class EncoderEntry(_Stored):
    """The encoder that made the vectors; questions must be encoded by the same."""

    model: str
    dtype: str
    revision: Sha256
    dim: Annotated[int, Field(ge=1)]
    max_tokens: Annotated[int, Field(ge=1)]


class TermsEntry(_Stored):
    """The generation's term statistics, a file beside its manifest.

    Attributes:
        file: Size and checksum.
        revision: How text became terms.
        num_terms: Distinct terms.
    """

    file: StoredFile
    revision: str
    num_terms: Count


class Manifest(_Stored):
    """Everything that one generation is.

    Attributes:
        format_version: Version of the files' format, independent of the package's.
        generation: Number, larger than every earlier one.
        run_id: The run that published it.
        parent: The generation that was current when it was built, or None.
        created_at: UTC time, ISO 8601.
        corpus: Address of the corpus.
        num_documents: Documents published.
        num_chunks: Chunks published.
        encoder: What encodes questions.
        annotator_revision: What wrote the CNMs.
        fingerprint: Settings and revisions that shaped the rows.
        settings: The resolved settings.
        settings_hash: Their SHA-256.
        software: Versions of the libraries that built it.
        terms: Term statistics.
        shards: All shards, by ascending ``shard_id``.
    """

    format_version: int
    generation: Annotated[int, Field(ge=1)]
    run_id: str
    parent: int | None
    created_at: str
    corpus: str
    num_documents: Count
    num_chunks: Count
    encoder: EncoderEntry
    annotator_revision: str
    fingerprint: Sha256
    settings: dict[str, Any]
    settings_hash: Sha256
    software: dict[str, str]
    terms: TermsEntry
    shards: list[ShardEntry]

    @property
    def key(self) -> str:
        """Key of the manifest itself."""
        return f"{self.folder}/{MANIFEST_FILE}"

    @property
    def folder(self) -> str:
        """Folder of the generation's own files."""
        return generation_folder(self.generation, self.run_id)

    @property
    def folders(self) -> dict[str, dict[str, StoredFile]]:
        """Every file of the generation but the manifest, by the key of its folder and by name."""
        shards = {shard.folder: shard.files for shard in self.shards if shard.folder is not None}
        return {self.folder: {TERMS_FILE: self.terms.file}, **shards}

    @property
    def index_config(self) -> IndexConfig:
        """How the index was made, as far as this version knows such settings.

        Raises:
            ValidationError: If a value is missing or out of range.
        """
        stored = self.settings.get("index")
        if not isinstance(stored, dict) or not stored.keys() >= _NEEDED_SETTINGS:
            return IndexConfig.model_validate(None)
        known = IndexConfig.model_fields.keys() & stored.keys()
        return IndexConfig.model_validate({name: stored[name] for name in known})

    def to_json(self) -> bytes:
        """Return the bytes that are stored."""
        return (self.model_dump_json(indent=1) + "\n").encode()


def read_manifest(store: ObjectStore, key: str, sha256: str) -> Manifest:
    """Read and check a manifest.

    Raises:
        ChecksumError: If its bytes are not those that ``CURRENT`` names.
        IndexFormatError: If it is of a newer format, malformed, or contradicts itself.
    """
    try:
        checked_key(key)
    except StorageError as error:
        message = f"{store.url}/{CURRENT}: malformed: {error}"
        raise IndexFormatError(message) from error
    data = read_verified(store, key, sha256)
    check_format_version(store, data, key)
    try:
        manifest = Manifest.model_validate_json(data)
        _ = manifest.index_config
    except ValidationError as error:
        message = f"{store.url}/{key}: malformed manifest: {error}"
        raise IndexFormatError(message) from error
    contradiction = _contradiction(manifest, key)
    if contradiction is not None:
        message = f"{store.url}/{key}: malformed manifest: {contradiction}"
        raise IndexFormatError(message)
    return manifest


def _contradiction(manifest: Manifest, key: str) -> str | None:
    """Return what in a manifest cannot be, or None."""
    if manifest.key != key:
        return f"it is that of {manifest.key}"
    if [shard.shard_id for shard in manifest.shards] != list(range(len(manifest.shards))):
        return "its shards are not numbered from 0 on"
    for shard in manifest.shards:
        if not shard.is_whole:
            return f"shard {shard.shard_id} does not have the files of a shard in its folder"
    for field in ("num_documents", "num_chunks"):
        told = getattr(manifest, field)
        total = sum(getattr(shard, field) for shard in manifest.shards)
        if total != told:
            return f"{field} is {told}, its shards have {total}"
    return None


def check_format_version(store: ObjectStore, data: bytes, key: str = CURRENT) -> None:
    """Refuse a stored object of another format, by name.

    Args:
        store: Where it is.
        data: Its bytes.
        key: Its key.

    Raises:
        IndexFormatError: If the format is newer than this version reads, or not stated.
    """
    try:
        version = _FormatVersion.model_validate_json(data).format_version
    except ValidationError as error:
        message = f"{store.url}/{key}: not an index of scp_ray, no format version found"
        raise IndexFormatError(message) from error
    if version != FORMAT_VERSION:
        message = (
            f"{store.url}/{key} has index format {version}; this version of scp_ray reads format "
            f"{FORMAT_VERSION}. Use the version that wrote it, or build the index again"
        )
        raise IndexFormatError(message)


class _FormatVersion(BaseModel):
    format_version: int
