"""The proof of a purge: every object that is left is looked into."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scp_ray.errors import IndexFormatError, ObjectNotFoundError
from scp_ray.pipeline.text_search import Finding, Wanted, is_table, local_copy, look_into
from scp_ray.protocols import ObjectStore


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked at, and what was found.

    Attributes:
        objects_checked: Objects of the store.
        probes: Pieces of the document's text that were looked for and are of no other document.
        also_in: Other documents that have some of its text, in order.
        holding: Objects that still hold it.
        unreadable: Objects that could not be looked into, and why.
    """

    objects_checked: int
    probes: int
    also_in: list[str]
    holding: list[str]
    unreadable: list[str]

    @property
    def is_complete(self) -> bool:
        """Whether everything was looked into and nothing holds the document."""
        return not self.holding and not self.unreadable


@dataclass
class _Ledger:
    """Findings by key, until it is known which probes are of the document alone."""

    findings: dict[str, Finding] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)

    def close(self, wanted: Wanted) -> Proof:
        """Add up."""
        owners: dict[str, frozenset[str]] = {}
        for finding in self.findings.values():
            for probe, doc_ids in finding.owners.items():
                owners[probe] = owners.get(probe, frozenset()) | doc_ids
        own = {probe for probe in wanted.probes if not owners.get(probe)}
        return Proof(
            objects_checked=len(self.findings) + len(self.unreadable),
            probes=len(own),
            also_in=sorted(frozenset[str]().union(*owners.values())),
            holding=[
                key
                for key, finding in self.findings.items()
                if finding.has_rows or finding.probes & own
            ],
            unreadable=[f"{key}: {why}" for key, why in self.unreadable.items()],
        )


def prove_absence(
    store: ObjectStore, wanted: Wanted, checksums: Mapping[str, Mapping[str, str]]
) -> Proof:
    """Look into every object of a store for a document.

    A probe that a row of another document has as well is of both: equal texts are two documents.
    It then proves nothing about objects without rows.

    Args:
        store: The index.
        wanted: The document.
        checksums: SHA-256 of the files that generations need, by folder and by name; such a table
            is decoded only if it is as it was written.
    """
    ledger = _Ledger()
    for stored in store.list():
        folder, _, name = stored.key.rpartition("/")
        sha256 = checksums.get(folder, {}).get(name) if is_table(name) else None
        try:
            with local_copy(store, stored.key, sha256) as path:
                ledger.findings[stored.key] = look_into(path, wanted)
        except (ObjectNotFoundError, FileNotFoundError):  # one that `doctor` tries the store with
            continue
        except IndexFormatError as error:
            ledger.unreadable[stored.key] = str(error)
    return ledger.close(wanted)
