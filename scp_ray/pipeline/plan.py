"""What a run has to do: the corpus as it is against the generation that is published.

A document is done again exactly when its content or the fingerprint of what shapes its rows
differs; its path alone decides nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import PurePosixPath

import pyarrow as pa

from scp_ray import schema
from scp_ray.corpus.formats import is_row_file
from scp_ray.errors import DuplicateDocumentError, QuarantineReason
from scp_ray.index.sharding import shard_of


class DocumentState(StrEnum):
    """A document of the corpus or of the published generation, seen from this run."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    RENAMED = "renamed"
    REMOVED = "removed"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class Locator:
    """Where a document's content is, and what it is.

    Attributes:
        doc_id: The document.
        source_key: Key of its file.
        row_index: Its row in a file of rows; -1 when the file is the document.
        size_bytes: Size of its content.
        content_sha256: Hash of its content.
    """

    doc_id: str
    source_key: str
    row_index: int
    size_bytes: int
    content_sha256: str

    @property
    def source(self) -> str:
        """For people."""
        return self.source_key if self.row_index < 0 else f"{self.source_key}#{self.row_index}"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A document that was set aside.

    Attributes:
        doc_id: The document, or its source where it has no name.
        reason: Its kind of trouble.
        detail: One sentence.
        kept_previous: Whether its previous version stays in the index.
    """

    doc_id: str
    reason: QuarantineReason
    detail: str
    kept_previous: bool = False


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    """A document of the current generation.

    Attributes:
        doc_id: The document, as that generation names it.
        shard_id: The shard that holds it.
        content_sha256: Hash of the content that was indexed.
        fingerprint: What shaped its rows.
        num_chunks: Its chunks.
        source_uri: Where it was read.
    """

    doc_id: str
    shard_id: int
    content_sha256: str
    fingerprint: str
    num_chunks: int
    source_uri: str


@dataclass(frozen=True, slots=True)
class CorpusPlan:
    """The corpus sorted by what is to be done.

    Attributes:
        todo: New and changed documents, in shard order, the long ones of a shard first.
        states: State of every document, by doc_id.
        quarantined: Documents that cannot be read at all.
        unchanged: Published documents that are the same or renamed, by their doc_id now.
        skipped: Files of kinds that are not read.
    """

    todo: list[Locator]
    states: dict[str, DocumentState]
    quarantined: list[Quarantined]
    unchanged: dict[str, PublishedDocument] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def count(self, state: DocumentState) -> int:
        """Return how many documents are in a state."""
        return sum(1 for value in self.states.values() if value is state)

    def doc_ids(self, state: DocumentState) -> list[str]:
        """Return the documents in a state, in order."""
        return sorted(doc_id for doc_id, value in self.states.items() if value is state)


def plan_corpus(
    inventory: Iterable[pa.Table],
    published: Mapping[str, PublishedDocument],
    fingerprint: str,
    num_shards: int,
    corpus: str,
) -> CorpusPlan:
    """Compare the corpus with what is published.

    A new document with exactly the content of one that is gone is that one, renamed.

    Args:
        inventory: Tables of schema ``INVENTORY``.
        published: Documents of the current generation by doc_id.
        fingerprint: Of this run's settings and revisions.
        num_shards: Shards of the new generation.
        corpus: Address of the corpus, for the sources of renamed documents.

    Raises:
        DuplicateDocumentError: If two inputs claim one doc_id; both are named.
    """
    found, quarantined, broken_files = _sorted_out(inventory)
    missing = {doc_id: row for doc_id, row in published.items() if doc_id not in found}
    quarantined += _lost_with_their_file(missing, quarantined, broken_files)
    states = dict.fromkeys(missing, DocumentState.REMOVED)
    for problem in quarantined:
        states[problem.doc_id] = DocumentState.QUARANTINED
    for doc_id, locator in found.items():
        states[doc_id] = _state(locator, published.get(doc_id), fingerprint)
    unchanged = {
        doc_id: published[doc_id] for doc_id in found if states[doc_id] is DocumentState.SAME
    }
    for locator, before in list(_renamed(found, states, published, fingerprint)):
        states[locator.doc_id] = DocumentState.RENAMED
        del states[before.doc_id]
        uri = f"{corpus}/{locator.source}"
        unchanged[locator.doc_id] = replace(before, source_uri=uri)
    todo = [
        locator
        for doc_id, locator in found.items()
        if states[doc_id] in {DocumentState.NEW, DocumentState.CHANGED}
    ]
    todo.sort(key=lambda row: (shard_of(row.doc_id, num_shards), -row.size_bytes, row.doc_id))
    return CorpusPlan(todo, states, quarantined, unchanged)


def locators_table(todo: Iterable[Locator], num_shards: int) -> pa.Table:
    """Return the input of the first stage, schema ``LOCATORS``, in the order given."""
    rows = [
        {
            schema.DOC_ID: locator.doc_id,
            schema.SHARD_ID: shard_of(locator.doc_id, num_shards),
            schema.SOURCE_KEY: locator.source_key,
            schema.ROW_INDEX: locator.row_index,
            schema.CONTENT_SHA256: locator.content_sha256,
        }
        for locator in todo
    ]
    return pa.Table.from_pylist(rows, schema=schema.LOCATORS)


def _sorted_out(
    inventory: Iterable[pa.Table],
) -> tuple[dict[str, Locator], list[Quarantined], set[str]]:
    """Return the usable documents, the others, and the files that have any of these."""
    found: dict[str, Locator] = {}
    problems: list[tuple[Locator, str, str]] = []
    duplicates: dict[str, list[str]] = defaultdict(list)
    for table in inventory:
        for row in table.to_pylist():
            reason, detail = row.pop(schema.REASON), row.pop(schema.DETAIL)
            locator = Locator(**row)
            if reason:
                problems.append((locator, reason, detail))
            elif locator.doc_id in found:
                duplicates[locator.doc_id].append(locator.source)
            else:
                found[locator.doc_id] = locator
    if duplicates:
        raise _duplicate_error(found, duplicates)
    return found, _named(problems, found), {locator.source_key for locator, _, _ in problems}


def _renamed(
    found: Mapping[str, Locator],
    states: Mapping[str, DocumentState],
    published: Mapping[str, PublishedDocument],
    fingerprint: str,
) -> Iterator[tuple[Locator, PublishedDocument]]:
    """Yield new documents that are removed ones under another name, each of these once."""
    gone: dict[tuple[str, str], list[PublishedDocument]] = defaultdict(list)
    for doc_id in sorted(published, reverse=True):
        row = published[doc_id]
        if states[doc_id] is DocumentState.REMOVED and row.fingerprint == fingerprint:
            gone[row.content_sha256, _format(row.source_uri)].append(row)
    for doc_id in sorted(found):
        locator = found[doc_id]
        same = (locator.content_sha256, _format(locator.source))
        if states[doc_id] is DocumentState.NEW and gone.get(same):
            yield locator, gone[same].pop()


def _format(source: str) -> str:
    """Return what decides how a source is parsed: rows of any file are parsed alike."""
    file, is_row, _ = source.rpartition("#")
    return "row" if is_row and is_row_file(file) else PurePosixPath(source).suffix.lower()


def _named(
    problems: Iterable[tuple[Locator, str, str]], found: Mapping[str, Locator]
) -> list[Quarantined]:
    """Return the problems by doc_id, or by source where another row has the same doc_id."""
    named: dict[str, Quarantined] = {}
    for locator, reason, detail in sorted(problems, key=lambda problem: problem[0].source):
        is_taken = locator.doc_id in found or locator.doc_id in named
        name = locator.source if is_taken else locator.doc_id
        named[name] = Quarantined(name, QuarantineReason(reason), detail)
    return [named[name] for name in sorted(named)]


def _lost_with_their_file(
    missing: Mapping[str, PublishedDocument],
    quarantined: Iterable[Quarantined],
    broken_files: Iterable[str],
) -> list[Quarantined]:
    """Return published rows that are missing because their file has rows that cannot be read.

    Which row was which document cannot be told any more, so none of them counts as removed.
    """
    told = {problem.doc_id for problem in quarantined}
    ends = tuple(f"/{key}" for key in broken_files)
    return [
        Quarantined(doc_id, QuarantineReason.UNREADABLE, "its file has rows that cannot be read")
        for doc_id, row in sorted(missing.items())
        if doc_id not in told and row.source_uri.rpartition("#")[0].endswith(ends)
    ]


def _duplicate_error(
    found: Mapping[str, Locator], duplicates: Mapping[str, list[str]]
) -> DuplicateDocumentError:
    doc_id = min(duplicates)
    sources = " and ".join(sorted([found[doc_id].source, *duplicates[doc_id]]))
    more = f" (and {len(duplicates) - 1} more doc_ids)" if len(duplicates) > 1 else ""
    message = f"doc_id {doc_id!r} is claimed by {sources}{more}; give each document its own doc_id"
    return DuplicateDocumentError(message)


def _state(
    locator: Locator, published: PublishedDocument | None, fingerprint: str
) -> DocumentState:
    if published is None:
        return DocumentState.NEW
    wanted = (locator.content_sha256, fingerprint)
    if (published.content_sha256, published.fingerprint) == wanted:
        return DocumentState.SAME
    return DocumentState.CHANGED
