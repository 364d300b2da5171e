"""The exceptions of scp_ray. Every deliberate error is one of these.

ScpRayError
├── ConfigError                   settings or arguments are wrong (exit code 2)
│   └── InfeasiblePlanError       the cluster can never run what was asked
├── DocumentError                 one document cannot be used; it is quarantined
├── DuplicateDocumentError        two inputs claim one doc_id
├── QueriesFormatError            a query file has a bad row
├── AnnotationError               an annotator failed at one chunk
├── GenerationError               a language model did not answer a request
│   ├── RequestRefusedError       this one it will never answer
│   ├── ModelUnreachableError     many in a row were not answered
│   └── EngineDeadError           its engine has ended
├── CallLimitError                the run may make no more calls of a language model
├── EncoderError                  the embedding model cannot be used
├── SchemaError                   a table does not have the columns that it must have
├── EmptyCorpusError              nothing in the corpus can be indexed
├── RowAccountingError            documents in != published + quarantined
├── RemovalGuardError             too many documents vanished to publish
├── RunInterruptedError           the run was told to stop; it can be resumed
├── StorageError
│   ├── TransientStorageError     trying again may help
│   ├── ObjectNotFoundError
│   └── PreconditionFailedError   somebody else changed the object first (exit code 4)
│       ├── LeaseHeldError        another run is at work on the index
│       └── LeaseLostError        another run took the index over
├── IndexFormatError              an index that this version cannot read
│   └── ChecksumError             an object is not what the manifest says
├── IndexQualityError             a built shard misses recall or cannot reach a vector
├── ClusterError                  Ray cannot be joined or started, or gave up on a stage
└── ShardUnavailableError         a shard did not answer
"""

from enum import StrEnum

from typing_extensions import override


class QuarantineReason(StrEnum):
    """Why a document was set aside; written to the run report."""

    EMPTY = "empty"
    BROKEN = "broken"
    ENCRYPTED = "encrypted"
    UNDECODABLE = "undecodable"
    OVERSIZED = "oversized"
    INVALID_ROW = "invalid_row"
    CHUNK_TOO_LONG = "chunk_too_long"
    ANNOTATION_FAILED = "annotation_failed"
    EMBEDDING_FAILED = "embedding_failed"
    UNREADABLE = "unreadable"


class ScpRayError(Exception):
    """Base of all errors that scp_ray raises on purpose."""


class ConfigError(ScpRayError):
    """A setting or an argument is wrong; the message says which and what would be right."""


class InfeasiblePlanError(ConfigError):
    """The cluster does not have, and cannot get, what the plan asks for."""


class DocumentError(ScpRayError):
    """One document cannot be used. It is quarantined and the rest of the corpus goes on."""

    def __init__(self, reason: QuarantineReason, detail: str) -> None:
        """Keep the reason apart from the sentence, so that reports can count by it."""
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    @override
    def __reduce__(self) -> tuple[type["DocumentError"], tuple[QuarantineReason, str]]:
        """Cross process borders with both arguments."""
        return type(self), (self.reason, self.detail)


class DuplicateDocumentError(ScpRayError):
    """Two inputs of the corpus claim the same doc_id."""


class QueriesFormatError(ScpRayError):
    """A row of a query file is not in the documented format."""


class AnnotationError(ScpRayError):
    """An annotator failed at one chunk of one document."""


class GenerationError(ScpRayError):
    """A language model did not answer a request: refused, timed out or out of reach."""


class RequestRefusedError(GenerationError):
    """A request that a language model cannot take, such as one longer than its context."""


class ModelUnreachableError(GenerationError):
    """A language model has left many requests in a row without an answer; the run must stop."""


class EngineDeadError(GenerationError):
    """The engine of a language model has ended; whoever holds it must start another one."""


class CallLimitError(ScpRayError):
    """The calls of a language model that the run may make are used up; it can be resumed."""


class EncoderError(ScpRayError):
    """The embedding model is missing, differs from the index's, or gave unusable vectors."""


class SchemaError(ScpRayError):
    """A table does not have the columns and types that ``scp_ray.schema`` states."""


class EmptyCorpusError(ScpRayError):
    """The corpus has no document that can be indexed."""


class RowAccountingError(ScpRayError):
    """A run lost or doubled a document: documents in != published + quarantined."""


class RemovalGuardError(ScpRayError):
    """More documents vanished from the corpus than ``publish.max_removed_fraction`` allows."""


class RunInterruptedError(ScpRayError):
    """The run was told to stop. What it staged is kept and the next run goes on from there."""


class StorageError(ScpRayError):
    """An object store refused or failed a call."""


class TransientStorageError(StorageError):
    """A call that may succeed when it is tried again."""


class ObjectNotFoundError(StorageError):
    """There is no object under this key."""


class PreconditionFailedError(StorageError):
    """A conditional write found another state than it was told to expect."""


class LeaseHeldError(PreconditionFailedError):
    """Another run holds the lease of the index, and lives."""


class LeaseLostError(PreconditionFailedError):
    """This run's lease was taken over; it can publish nothing any more."""


class IndexFormatError(ScpRayError):
    """The index has a format that this version does not read, or is malformed."""


class ChecksumError(IndexFormatError):
    """An object's bytes are not those that the manifest names."""


class IndexQualityError(ScpRayError):
    """A built shard has too little recall or vectors that no search can reach."""


class ClusterError(ScpRayError):
    """There is no Ray cluster that this process could join or start, or it gave up on a stage."""


class ShardUnavailableError(ScpRayError):
    """A shard group did not answer in time, or answered something unusable."""


class NotReadyError(ScpRayError):
    """The service has no generation open yet."""


class OverloadedError(ScpRayError):
    """As many questions are being answered as may be; this one is to be asked again later."""
