"""What an ablation keeps on its store, by the hash of what each piece was made of.

Objects are written whole and never changed, so that whatever is there is done:

    sets/<fingerprint>.json                     texts, questions and names of a set
    variants/<key>.arrow                        chunks of one way to cut and annotate a set
    embeddings/<encoder>/<key>.arrow            vectors of some texts
    cells/<key>.json                            what each question counts in one cell
    annotations/<fingerprint>/<part>.parquet    answers of language models
    ablation.json, .html, .md, cells.parquet    the results
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from scp_ray import schema
from scp_ray.errors import IndexFormatError, ObjectNotFoundError
from scp_ray.evaluation.ablation.variant import VARIANT_SCHEMA, Variant
from scp_ray.protocols import Float32Array, ObjectStore

_VARIANTS: Final = "variants/"
_EMBEDDINGS: Final = "embeddings/"
_CELLS: Final = "cells/"
_CELL_KEYS: Final = ("query_ids", "num_chunks", "signature_accuracy", "values")
_ARROW, _JSON = ".arrow", ".json"
_NAME_CHARACTERS: Final = 32


class AblationStore:
    """The pieces of an ablation on a store.

    Attributes:
        store: The store.

    Args:
        store: Where.
        encoder_revision: Of the encoder whose vectors are meant.
    """

    def __init__(self, store: ObjectStore, encoder_revision: str) -> None:
        self.store = store
        self._folder = f"{_EMBEDDINGS}{encoder_revision[:_NAME_CHARACTERS]}/"

    def variants(self) -> set[str]:
        """Return the keys of the variants that are there."""
        return self._names(_VARIANTS, _ARROW)

    def cells(self) -> set[str]:
        """Return the keys of the cells that are there."""
        return self._names(_CELLS, _JSON)

    def save_variant(self, key: str, table: pa.Table) -> None:
        """Keep the chunks of a variant, schema ``VARIANT_SCHEMA``."""
        self.store.write(f"{_VARIANTS}{key}{_ARROW}", _to_bytes(table, "zstd"))

    def load_variant(self, key: str) -> Variant:
        """Return the chunks of a variant."""
        return Variant.from_table(self._table(f"{_VARIANTS}{key}{_ARROW}", VARIANT_SCHEMA))

    def save_embeddings(self, keys: Sequence[bytes], vectors: Float32Array) -> None:
        """Keep the vectors of some texts by their ``text_key``."""
        dim = vectors.shape[1]
        values = pa.array(vectors.reshape(-1), pa.float32())
        columns = [
            pa.array(keys, pa.binary()),
            pa.FixedSizeListArray.from_arrays(values, dim),
        ]
        table = pa.table(columns, schema=_embeddings_schema(dim))
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:_NAME_CHARACTERS]
        self.store.write(f"{self._folder}{name}{_ARROW}", _to_bytes(table, None))

    def embedded(self) -> set[bytes]:
        """Return the keys of the texts that have a vector."""
        return {key for table in self._blocks() for key in _keys(table)}

    def load_embeddings(self) -> "Embeddings":
        """Return all vectors that are there."""
        return Embeddings(self._blocks())

    def save_cell(self, key: str, cell: Mapping[str, Any]) -> None:
        """Keep what a cell came to."""
        data = json.dumps(cell, ensure_ascii=False).encode()
        self.store.write(f"{_CELLS}{key}{_JSON}", data)

    def load_cell(self, key: str) -> dict[str, Any]:
        """Return what a cell came to.

        Raises:
            IndexFormatError: If it cannot be read.
        """
        name = f"{_CELLS}{key}{_JSON}"
        try:
            cell: dict[str, Any] = json.loads(self.store.read(name))
            return {key: cell[key] for key in _CELL_KEYS}
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(self.store, name, error) from error

    def _names(self, folder: str, suffix: str) -> set[str]:
        return {
            stored.key.removeprefix(folder).removesuffix(suffix)
            for stored in self.store.list(folder)
        }

    def _blocks(self) -> list[pa.Table]:
        names = [stored.key for stored in self.store.list(self._folder)]
        return [self._table(name, None) for name in names]

    def _table(self, name: str, expected: pa.Schema | None) -> pa.Table:
        try:
            table = pa.ipc.open_file(pa.BufferReader(self.store.read(name))).read_all()
        except (pa.ArrowInvalid, ObjectNotFoundError) as error:
            raise _damaged(self.store, name, error) from error
        if expected is None:
            dim = table.schema.field(schema.EMBEDDING).type.list_size
            expected = _embeddings_schema(dim)
        return schema.ensure_schema(table, expected, f"{self.store.url}/{name}")


class Embeddings:
    """Vectors of texts by their keys.

    Args:
        blocks: Tables of keys and vectors. Blocks of two runs may have the same key: the last one
            counts.
    """

    def __init__(self, blocks: Sequence[pa.Table]) -> None:
        self._rows: dict[bytes, int] = {}
        vectors: list[Float32Array] = []
        num_rows = 0
        for table in blocks:
            self._rows |= {key: num_rows + row for row, key in enumerate(_keys(table))}
            num_rows += table.num_rows
            column: Any = table.column(schema.EMBEDDING).combine_chunks()
            vectors.append(column.flatten().to_numpy().reshape(table.num_rows, -1))
        self._vectors = np.concatenate(vectors)

    def of(self, keys: Sequence[bytes]) -> Float32Array:
        """Return the vectors of some texts, shape (n, dim), float32, in the order of the keys."""
        return self._vectors[[self._rows[key] for key in keys]]


def _keys(table: pa.Table) -> list[bytes]:
    keys: list[Any] = table.column(schema.KEY).to_pylist()
    return keys


def _embeddings_schema(dim: int) -> pa.Schema:
    return pa.schema(
        [
            pa.field(schema.KEY, pa.binary(), nullable=False),
            pa.field(schema.EMBEDDING, pa.list_(pa.float32(), dim), nullable=False),
        ]
    )


def _to_bytes(table: pa.Table, compression: Literal["zstd"] | None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _damaged(store: ObjectStore, name: str, error: Exception) -> IndexFormatError:
    return IndexFormatError(
        f"{store.url}/{name}: {error}; delete it, and run the same command again"
    )
