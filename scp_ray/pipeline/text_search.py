"""Looks into a file of any kind for a document: for its rows, and for its text.

Text is looked for by probes, pieces of it. Tables are decoded; of other files the bytes are
searched, for the probe as it is and as JSON spells it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scp_ray import schema
from scp_ray.errors import ChecksumError, IndexFormatError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.checksums import file_sha256

Column: TypeAlias = "pa.ChunkedArray[Any]"

_MOST_PROBES = 32
_PROBE_CHARACTERS = 48
_LEAST_CHARACTERS = 8  # fewer are found by chance among numbers
_BLOCK_BYTES = 8 * 1024 * 1024
_ARROW, _PARQUET = ".arrow", ".parquet"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for.

    Attributes:
        doc_id: The document.
        probes: Pieces of its text.
    """

    doc_id: str
    probes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a file has of a document.

    Attributes:
        has_rows: Whether a row of it is there.
        probes: Probes found where no row says whose text it is.
        owners: Other documents whose rows have a probe, by probe.
    """

    has_rows: bool = False
    probes: frozenset[str] = frozenset()
    owners: Mapping[str, frozenset[str]] = field(default_factory=dict)


def choose_probes(texts: Iterable[str]) -> tuple[str, ...]:
    """Return at most 32 pieces of texts, spread over them evenly.

    Pieces have 48 characters, or as many as there are where all texts are shorter, but at least 8:
    of a shorter text there is no probe.
    """
    pieces = [
        text[start : start + _PROBE_CHARACTERS]
        for text in texts
        for start in range(0, len(text), _PROBE_CHARACTERS)
    ]
    usable = dict.fromkeys(one for one in pieces if len(one.strip()) >= _LEAST_CHARACTERS)
    whole = [piece for piece in usable if len(piece) == _PROBE_CHARACTERS] or list(usable)
    wanted = min(len(whole), _MOST_PROBES)
    return tuple(whole[number * len(whole) // wanted] for number in range(wanted))


def look_into(path: Path, wanted: Wanted) -> Finding:
    """Look for a document in a file.

    Raises:
        IndexFormatError: If it is a table by its name and cannot be decoded, or not read at all.
        FileNotFoundError: If it is not there.
    """
    if not is_table(path.name):
        return Finding(probes=frozenset(_probes_in_file(path, wanted.probes)))
    table = read_texts(path)
    if schema.DOC_ID not in table.column_names:
        columns = [flat for column in table.columns for flat in _flat(column)]
        found = {probe for column in columns for probe, _ in _matches(column, wanted.probes)}
        return Finding(probes=frozenset(found))
    return Finding(
        has_rows=rows_of(table, wanted.doc_id).num_rows > 0, owners=_owners(table, wanted)
    )


def is_table(name: str) -> bool:
    """Say whether a file of this name is a table."""
    return name.endswith((_ARROW, _PARQUET))


def rows_of(table: pa.Table, doc_id: str) -> pa.Table:
    """Return the rows of one document."""
    return table.filter(pc.equal(table[schema.DOC_ID], pa.scalar(doc_id)))


def read_texts(path: Path) -> pa.Table:
    """Read the columns of a table that can hold text; those of an Arrow file are mapped.

    Raises:
        IndexFormatError: If it cannot be decoded.
        FileNotFoundError: If it is not there.
    """
    try:
        table = _read_arrow(path) if path.suffix == _ARROW else _read_parquet(path)
        table.validate(full=True)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        message = f"cannot be decoded: {error}"
        raise IndexFormatError(message) from error
    return table


@contextmanager
def local_copy(store: ObjectStore, key: str, sha256: str | None = None) -> Iterator[Path]:
    """Give an object as a local file, for as long as the block runs.

    The errors of this module leave it to the caller to name the object.

    Raises:
        ObjectNotFoundError: If there is none.
        ChecksumError: If it has other bytes than those of ``sha256``.
    """
    with TemporaryDirectory() as scratch:
        path = store.local_path(key)
        if path is None:
            path = Path(scratch, PurePosixPath(key).name)
            store.download(key, path)
        if sha256 is not None and file_sha256(path) != sha256:
            message = "its bytes are not those that were written"
            raise ChecksumError(message)
        yield path


def _read_arrow(path: Path) -> pa.Table:
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    return table.select([one.name for one in table.schema if _can_hold_text(one.type)])


def _read_parquet(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        columns = [one.name for one in file.schema_arrow if _can_hold_text(one.type)]
        return file.read(columns=columns)


def _can_hold_text(kind: pa.DataType) -> bool:
    if kind.num_fields:
        return any(_can_hold_text(kind.field(number).type) for number in range(kind.num_fields))
    return not pa.types.is_primitive(kind) and not pa.types.is_null(kind)


def _owners(table: pa.Table, wanted: Wanted) -> dict[str, frozenset[str]]:
    """Return the other documents whose rows have a probe in a column of strings, by probe."""
    owners = defaultdict[str, set[str]](set)
    for column in table.columns:
        if _is_string(column.type):
            for probe, is_match in _matches(column, wanted.probes):
                rows = table[schema.DOC_ID].filter(is_match)
                owners[probe].update(map(str, rows.to_pylist()))
    return {probe: frozenset(found - {wanted.doc_id}) for probe, found in owners.items()}


def _matches(column: Column, probes: Iterable[str]) -> Iterator[tuple[str, Column]]:
    """Yield the probes that a column of strings has, and in which rows.

    Its bytes are searched first, rows end to end, which is three times as fast.
    """
    spellings = {probe: {probe.encode()} for probe in probes}
    for probe in sorted(_found_in(_blocks_of(column), spellings)):
        is_match: Any = pc.match_substring(column, probe)
        if pc.any(is_match).as_py():
            yield probe, is_match


def _blocks_of(column: Column) -> Iterator[bytes]:
    for array in column.chunks:
        values = array.buffers()[-1]
        if values is not None:  # as it may be of an array of empty strings
            for start in range(0, values.size, _BLOCK_BYTES):
                yield values.slice(start, min(_BLOCK_BYTES, values.size - start)).to_pybytes()


def _flat(column: Column) -> Iterator[Column]:
    """Yield the strings of a column, of nested ones too."""
    kind = column.type
    if _is_string(kind):
        yield column
    elif pa.types.is_dictionary(kind):
        yield from _flat(column.cast(kind.value_type))
    elif pa.types.is_struct(kind):
        for part in column.flatten():
            yield from _flat(part)
    elif kind.num_fields:
        values: Any = pc.list_flatten(column)
        yield from _flat(values)


def _is_string(kind: pa.DataType) -> bool:
    return any(
        matches(kind)
        for matches in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_large_binary,
        )
    )


def _probes_in_file(path: Path, probes: Iterable[str]) -> set[str]:
    """Return the probes that are in a file, as they are or as JSON spells them."""
    spellings = {probe: _spellings(probe) for probe in probes}
    try:
        with path.open("rb") as file:
            return _found_in(iter(lambda: file.read(_BLOCK_BYTES), b""), spellings)
    except FileNotFoundError:
        raise
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise IndexFormatError(message) from error


def _spellings(probe: str) -> set[bytes]:
    in_json = (json.dumps(probe, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    return {one.encode() for one in (probe, *in_json)}


def _found_in(blocks: Iterable[bytes], spellings: Mapping[str, set[bytes]]) -> set[str]:
    """Return the probes of which a spelling is in a sequence of bytes that comes in blocks."""
    if not spellings:
        return set()
    overlap = max(len(one) for many in spellings.values() for one in many) - 1
    found: set[str] = set()
    seen = b""
    for block in blocks:
        seen = seen[-overlap:] + block
        found.update(probe for probe, many in spellings.items() if any(one in seen for one in many))
    return found
