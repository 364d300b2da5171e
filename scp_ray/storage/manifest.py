"""The manifest: what one generation consists of. Written last, and never changed."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scp_ray.errors import IndexFormatError, StorageError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import read_verified
from scp_ray.storage.keys import MANIFEST_FILE, TERMS_FILE, checked_key, generation_folder

FORMAT_VERSION = 2

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
    recall: float

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 of each file by name."""
        return {name: file.sha256 for name, file in self.files.items()}

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.size_bytes for file in self.files.values())


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

    def to_json(self) -> bytes:
        """Return the bytes that are stored."""
        return (self.model_dump_json(indent=1) + "\n").encode()


def read_manifest(store: ObjectStore, key: str, sha256: str) -> Manifest:
    """Read and check a manifest.

    Raises:
        ChecksumError: If its bytes are not those that ``CURRENT`` names.
        IndexFormatError: If it is of a newer format, or malformed.
    """
    data = read_verified(store, checked_key(key), sha256)
    check_format_version(store, data)
    try:
        manifest = Manifest.model_validate_json(data)
        for shard in manifest.shards:
            for name in shard.files:
                checked_key(f"{shard.folder}/{name}")
    except (ValidationError, StorageError) as error:
        message = f"{store.url}/{key}: malformed manifest: {error}"
        raise IndexFormatError(message) from error
    return manifest


def check_format_version(store: ObjectStore, data: bytes) -> None:
    """Refuse a stored object of another format, by name.

    Raises:
        IndexFormatError: If the format is newer than this version reads, or not stated.
    """
    try:
        version = _FormatVersion.model_validate_json(data).format_version
    except ValidationError as error:
        message = f"{store.url}: not an index of scp_ray, no format version found"
        raise IndexFormatError(message) from error
    if version != FORMAT_VERSION:
        message = (
            f"{store.url} has index format {version}; this version of scp_ray reads format "
            f"{FORMAT_VERSION}. Use the version that wrote it, or build the index again"
        )
        raise IndexFormatError(message)


class _FormatVersion(BaseModel):
    format_version: int
