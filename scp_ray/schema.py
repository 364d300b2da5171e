"""Arrow schemas of every table that is passed between stages or written to storage.

The only file that spells column names. A table from elsewhere goes through ``ensure_schema``.

    table       one row is                 written to
    ---------   ------------------------   ------------------------------------------------
    INVENTORY   one input document         nowhere; the plan is made from it
    INPUTS      one file of the corpus     nowhere; passes to the inventory
    LOCATORS    one document to be done    nowhere; passes to the first stage
    WORK        one document in the flow   nowhere; passes between the stages
    PIECES      a piece of a document      nowhere; passes to the annotators
    ASKED       a piece, answered          nowhere; comes back to the driver
    OUTCOMES    one document, done         nowhere; all that comes back to the driver
    BUILDS      one shard to be built      nowhere; passes to the build
    DESCRIPTION the encoder                nowhere; comes back to the driver
    BUILT       one shard, published       nowhere; all that comes back to the driver
    STAGED      one document, done         runs/<run id>/staged/<shard>/<part>.documents.parquet
    CHUNKS      one chunk                  staged parts; shards/<id>/<hash>/chunks.arrow
    DOCUMENTS   one document of a shard    shards/<id>/<hash>/documents.parquet
    ANSWERS     one answer of an LLM       annotations/<fingerprint>/<part>.parquet
    TERMS       one term                   of a shard: shards/<id>/<hash>/lexical.terms.arrow
                                           of all: generations/<number>-<run id>/terms.arrow

CHUNKS rows are sorted by doc_id and chunk_index; ``docs/data-formats.md`` explains each column.
"""

import dataclasses
from typing import Any, TypeAlias

import pyarrow as pa

from scp_ray.errors import SchemaError
from scp_ray.records import AnnotationUsage

Field: TypeAlias = "pa.Field[Any]"

DOC_ID = "doc_id"
SHARD_ID = "shard_id"
SOURCE_KEY = "source_key"
ROW_INDEX = "row_index"
SOURCE_URI = "source_uri"
SIZE_BYTES = "size_bytes"
CONTENT_SHA256 = "content_sha256"
FINGERPRINT = "fingerprint"
METADATA_JSON = "metadata_json"
REASON = "reason"
DETAIL = "detail"
TEXT = "text"
CHUNK_SPANS = "chunk_spans"
ANNOTATIONS = "annotations"
CHUNK_INDEX = "chunk_index"
NUM_CHUNKS = "num_chunks"
NUM_CHARACTERS = "num_characters"
NUM_TOKENS = "num_tokens"
CHAR_START = "char_start"
CHAR_END = "char_end"
PREFIX = "prefix"
CNM_CATEGORY = "cnm_category"
CNM_NOUNS = "cnm_nouns"
CNM_MODEL = "cnm_model"
STARTS_SPAN = "starts_span"
EMBEDDING = "embedding"
PART = "part"
NUM_SPANS = "num_spans"
NUM_SHORTENED = "num_shortened"
READ_S = "read_s"
ANNOTATE_S = "annotate_s"
ACTIVE = "active"
EMBED_S = "embed_s"
KEY = "key"
VERSION = "version"
PARTS = "parts"
DOC_IDS = "doc_ids"
KEPT = "kept"
KEPT_AS = "kept_as"
KEPT_DOCUMENTS = "kept_documents"
SHARD = "shard"
ENTRY_JSON = "entry_json"
BUILD_S = "build_s"
TERM = "term"
CHUNK_FREQUENCY = "chunk_frequency"
ANSWER_KEY = "key"
ANSWER = "answer"
USAGE = "usage"
CHUNKS = "chunks"
SET = "set"
CELL = "cell"
QUERY_ID = "query_id"


def _required(name: str, kind: pa.DataType) -> Field:
    return pa.field(name, kind, nullable=False)


def _nullable(name: str, kind: pa.DataType) -> Field:
    return pa.field(name, kind, nullable=True)


_CNM = [
    _nullable(CNM_CATEGORY, pa.string()),
    _required(CNM_NOUNS, pa.list_(pa.string())),
    _nullable(CNM_MODEL, pa.string()),
    _required(STARTS_SPAN, pa.bool_()),
]
_USAGE = pa.struct(
    [_required(field.name, pa.int64()) for field in dataclasses.fields(AnnotationUsage)]
)
_ACTIVE = pa.struct(
    [
        _required("engine", pa.string()),
        _required("began", pa.float64()),
        _required("ended", pa.float64()),
    ]
)
_FAILURE = [_nullable(REASON, pa.string()), _nullable(DETAIL, pa.string())]

PIECES = pa.schema(
    [
        _required(CONTENT_SHA256, pa.string()),  # of the whole document
        _required(CHUNKS, pa.large_list(pa.large_string())),
    ]
)

ASKED = pa.schema([_required(USAGE, _USAGE)])

INPUTS = pa.schema(
    [
        _required(KEY, pa.string()),
        _required(SIZE_BYTES, pa.int64()),
        _required(VERSION, pa.string()),
    ]
)

INVENTORY = pa.schema(
    [
        _required(DOC_ID, pa.string()),
        _required(SOURCE_KEY, pa.string()),
        _required(ROW_INDEX, pa.int64()),  # -1 when the file is one document
        _required(SIZE_BYTES, pa.int64()),
        _required(CONTENT_SHA256, pa.string()),
        *_FAILURE,
    ]
)

LOCATORS = pa.schema(
    [
        _required(DOC_ID, pa.string()),
        _required(SHARD_ID, pa.int32()),
        _required(SOURCE_KEY, pa.string()),
        _required(ROW_INDEX, pa.int64()),
        _required(CONTENT_SHA256, pa.string()),
    ]
)

_SPAN = pa.struct(
    [
        _required(CHAR_START, pa.int64()),
        _required(CHAR_END, pa.int64()),
        _required(NUM_TOKENS, pa.int32()),
    ]
)

WORK = pa.schema(
    [
        _required(DOC_ID, pa.string()),
        _required(SHARD_ID, pa.int32()),
        _required(SOURCE_URI, pa.string()),
        _required(CONTENT_SHA256, pa.string()),
        _required(METADATA_JSON, pa.string()),
        _required(TEXT, pa.large_string()),
        _required(CHUNK_SPANS, pa.large_list(_SPAN)),
        _required(ANNOTATIONS, pa.large_list(pa.struct(_CNM))),
        _required(USAGE, _USAGE),
        _required(READ_S, pa.float64()),
        _required(ANNOTATE_S, pa.float64()),
        _nullable(ACTIVE, _ACTIVE),
        *_FAILURE,
    ]
)

OUTCOMES = pa.schema(
    [
        _required(DOC_ID, pa.string()),
        _required(SHARD_ID, pa.int32()),
        _nullable(PART, pa.string()),
        _required(NUM_CHUNKS, pa.int64()),
        _required(NUM_SPANS, pa.int64()),
        _required(NUM_TOKENS, pa.int64()),
        _required(NUM_SHORTENED, pa.int64()),
        _required(USAGE, _USAGE),
        _required(READ_S, pa.float64()),
        _required(ANNOTATE_S, pa.float64()),
        _nullable(ACTIVE, _ACTIVE),
        _required(EMBED_S, pa.float64()),
        *_FAILURE,
    ]
)

STAGED = pa.schema(
    [
        _required(DOC_ID, pa.string()),
        _required(SHARD_ID, pa.int32()),
        _required(SOURCE_URI, pa.string()),
        _required(CONTENT_SHA256, pa.string()),
        _required(FINGERPRINT, pa.string()),
        _required(METADATA_JSON, pa.string()),
        _required(NUM_CHARACTERS, pa.int64()),
        _required(NUM_CHUNKS, pa.int64()),
    ]
)

DOCUMENTS = pa.schema([field for field in STAGED if field.name != SHARD_ID])


_PART_DOCUMENTS = pa.struct(
    [_required(PART, pa.string()), _required(DOC_IDS, pa.large_list(pa.string()))]
)

KEPT_DOCUMENT = pa.schema(
    [
        _required(KEPT_AS, pa.string()),  # its doc_id in the generation before
        _required(DOC_ID, pa.string()),
        _required(SOURCE_URI, pa.string()),
    ]
)

_KEPT_SHARD = pa.struct(
    [
        _required(SHARD, pa.string()),  # ShardEntry as JSON
        _required(KEPT_DOCUMENTS, pa.large_list(pa.struct(list(KEPT_DOCUMENT)))),
    ]
)

BUILDS = pa.schema(
    [
        _required(SHARD_ID, pa.int32()),
        _required(PARTS, pa.large_list(_PART_DOCUMENTS)),
        _required(KEPT, pa.large_list(_KEPT_SHARD)),
    ]
)

DESCRIPTION = pa.schema([_required(ENTRY_JSON, pa.string())])

BUILT = pa.schema([_required(ENTRY_JSON, pa.string()), _required(BUILD_S, pa.float64())])


def chunks_schema(dim: int) -> pa.Schema:
    """Return the schema of a chunk table whose embeddings have ``dim`` numbers."""
    return pa.schema(
        [
            _required(DOC_ID, pa.string()),
            _required(CHUNK_INDEX, pa.int64()),
            _required(NUM_CHUNKS, pa.int64()),
            _required(CHAR_START, pa.int64()),
            _required(CHAR_END, pa.int64()),
            _required(NUM_TOKENS, pa.int32()),
            _required(TEXT, pa.large_string()),
            _required(PREFIX, pa.string()),
            *_CNM,
            _required(EMBEDDING, pa.list_(pa.float32(), dim)),
        ]
    )


TERMS = pa.schema(
    [
        _required(TERM, pa.string()),
        _required(CHUNK_FREQUENCY, pa.int64()),
    ]
)


ANSWERS = pa.schema(
    [
        _required(ANSWER_KEY, pa.binary(16)),
        _required(ANSWER, pa.string()),
    ]
)


def ensure_schema(table: pa.Table, expected: pa.Schema, where: str) -> pa.Table:
    """Return ``table`` with exactly the columns of ``expected``, cast where that loses nothing.

    Raises:
        SchemaError: If a column is missing, unknown or of another type; ``where`` is named.
    """
    if set(table.column_names) != set(expected.names):
        missing = sorted(set(expected.names) - set(table.column_names))
        unknown = sorted(set(table.column_names) - set(expected.names))
        message = f"{where}: missing columns {missing}, unknown columns {unknown}"
        raise SchemaError(message)
    try:
        return table.select(expected.names).cast(expected)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        message = f"{where}: {error}"
        raise SchemaError(message) from error
