"""Answers of language models on the store, so that none is paid for twice.

Parts under ``annotations/<fingerprint>/`` are Parquet tables of keys and answers, named by the
SHA-256 of their bytes and never changed; any number of writers may add some. The fingerprint names
prompts, model and revision, so a key needs to name only the text. All keys of a fingerprint are
held in memory, 16 bytes and the answer each.
"""

import hashlib
import logging
import threading
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scp_ray import schema
from scp_ray.errors import ChecksumError, SchemaError, StorageError
from scp_ray.protocols import ObjectStore, StoredObject
from scp_ray.storage.checksums import read_verified
from scp_ray.storage.keys import ANNOTATIONS, annotations_folder

_log = logging.getLogger(__name__)

_SUFFIX = ".parquet"
_KEY = "S16"
_MAX_SEGMENTS = 8  # more are merged, so that a lookup stays a few binary searches


class StoredAnnotationCache:
    """An ``AnnotationCache`` on an object store. Threads may share one."""

    def __init__(self, store: ObjectStore, fingerprint: str) -> None:
        """Take in what is stored under a fingerprint.

        Raises:
            StorageError: If the store cannot be read.
        """
        self._store = store
        self._folder = annotations_folder(fingerprint)
        self._turn = threading.Lock()  # of the answers in memory
        self._flush_turn = threading.Lock()
        self._new: dict[bytes, str] = {}
        self._seen: set[str] = set()
        self._segments: list[_Segment] = []
        self._take_in()

    def get(self, key: bytes) -> str | None:
        """Return the answer for a key of 16 bytes, or None."""
        with self._turn:
            if key in self._new:
                return self._new[key]
            for segment in reversed(self._segments):  # a later answer takes the place of one
                answer = segment.get(key)
                if answer is not None:
                    return answer
        return None

    def put(self, key: bytes, answer: str) -> None:
        """Keep an answer; it is durable after the next ``flush``."""
        with self._turn:
            self._new[key] = answer

    def flush(self) -> None:
        """Write what was put since the last flush, and take in what others have written.

        A store that fails is tried again by the next flush: a cache must not stop a run.
        """
        with self._flush_turn:
            with self._turn:
                answers = dict(self._new)
            try:
                if answers:
                    self._seen.add(write_part(self._store, self._folder, answers))
                    self._add_segment(_Segment.of(answers))
                    with self._turn:
                        for key in answers:
                            del self._new[key]
                self._take_in()
            except StorageError as error:
                _log.warning("the annotation cache is not up to date: %s", error)

    def _take_in(self) -> None:
        """Read the parts that this process has not seen."""
        for stored in list(self._store.list(self._folder)):
            if stored.key in self._seen or not stored.key.endswith(_SUFFIX):
                continue
            try:
                table = read_part(self._store, stored.key)
            except (ChecksumError, SchemaError) as error:
                _log.warning("%s; its answers are asked for again", error)
            else:
                self._add_segment(_Segment.from_table(table))
            self._seen.add(stored.key)

    def _add_segment(self, segment: "_Segment") -> None:
        with self._turn:
            self._segments.append(segment)
            if len(self._segments) > _MAX_SEGMENTS:
                self._segments = [_Segment.merged(self._segments)]


def write_part(store: ObjectStore, folder: str, answers: Mapping[bytes, str]) -> str:
    """Write answers as one part and return its key."""
    rows = sorted(answers.items())
    columns = [
        pa.array(list(column), field.type)
        for column, field in zip(zip(*rows, strict=True), schema.ANSWERS, strict=True)
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=schema.ANSWERS), sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    key = f"{folder}{hashlib.sha256(data).hexdigest()}{_SUFFIX}"
    store.write(key, data)
    return key


def read_part(store: ObjectStore, key: str) -> pa.Table:
    """Return a part, schema ``ANSWERS``.

    Raises:
        ChecksumError: If its bytes are others than its name says.
        SchemaError: If it is another table.
    """
    data = read_verified(store, key, PurePosixPath(key).stem)
    try:
        table = pq.read_table(pa.BufferReader(data))
    except pa.ArrowInvalid as error:
        message = f"{store.url}/{key}: not a part of the annotation cache: {error}"
        raise ChecksumError(message) from error
    return schema.ensure_schema(table, schema.ANSWERS, f"{store.url}/{key}")


def parts_with(store: ObjectStore, keys: Iterable[bytes]) -> list[str]:
    """Return the parts of all models that hold an answer for one of the keys, or are damaged."""
    wanted = pa.array(list(keys), schema.ANSWERS.field(schema.ANSWER_KEY).type)
    return [
        stored.key
        for stored in store.list(ANNOTATIONS)
        if _rows_without(store, stored.key, wanted) is not None
    ]


def forget_answers(store: ObjectStore, keys: Iterable[bytes]) -> list[StoredObject]:
    """Take answers out of the parts of all models; return the parts that went.

    A part is written again without them before it is deleted. Damaged parts are deleted: nobody
    can use them.
    """
    wanted = pa.array(list(keys), schema.ANSWERS.field(schema.ANSWER_KEY).type)
    gone: list[StoredObject] = []
    for stored in list(store.list(ANNOTATIONS)):
        rest = _rows_without(store, stored.key, wanted)
        if rest is None:
            continue
        if rest.num_rows:
            columns = (rest[name].to_pylist() for name in schema.ANSWERS.names)
            folder = f"{stored.key.rpartition('/')[0]}/"
            write_part(store, folder, dict(zip(*columns, strict=True)))
        store.delete(stored.key)
        gone.append(stored)
    return gone


def _rows_without(store: ObjectStore, part: str, keys: "pa.Array[Any]") -> pa.Table | None:
    """Return the other rows of a part, None if it has no row of the keys."""
    try:
        table = read_part(store, part)
    except (ChecksumError, SchemaError):
        return schema.ANSWERS.empty_table()
    is_other = pc.invert(pc.is_in(table[schema.ANSWER_KEY], value_set=keys))
    rest = table.filter(is_other)
    return rest if rest.num_rows < table.num_rows else None


class _Segment:
    """Keys, ascending, and their answers."""

    def __init__(self, keys: npt.NDArray[np.bytes_], answers: "pa.Array[Any]") -> None:
        order = np.argsort(keys, kind="stable")
        self.keys = keys[order]
        self.answers = answers.take(pa.array(order, pa.int64()))

    @classmethod
    def of(cls, answers: Mapping[bytes, str]) -> "_Segment":
        """Hold answers by key."""
        return cls(np.array(list(answers), _KEY), pa.array(answers.values(), pa.string()))

    @classmethod
    def from_table(cls, table: pa.Table) -> "_Segment":
        """Hold the rows of a part."""
        keys = np.array(table[schema.ANSWER_KEY].to_pylist(), _KEY)
        return cls(keys, table[schema.ANSWER].combine_chunks())

    @classmethod
    def merged(cls, segments: list["_Segment"]) -> "_Segment":
        """Hold all of theirs."""
        keys = np.concatenate([segment.keys for segment in segments])
        return cls(keys, pa.concat_arrays([segment.answers for segment in segments]))

    def get(self, key: bytes) -> str | None:
        """Return the answer for a key, or None."""
        wanted = np.array([key], _KEY)
        row = int(np.searchsorted(self.keys, wanted)[0])
        if row == len(self.keys) or self.keys[row : row + 1] != wanted:
            return None
        answer: str = self.answers[row].as_py()
        return answer
