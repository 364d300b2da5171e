"""Reads the corpora and questions of an ablation once, and keeps them beside its results.

Every worker, and every later run, then sees the same texts, whatever becomes of the corpus.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scp_ray import schema
from scp_ray.corpus.inventory import inventory_file, list_inputs
from scp_ray.corpus.read import read_documents
from scp_ray.errors import ConfigError, DocumentError
from scp_ray.evaluation.ablation.config import SetConfig
from scp_ray.evaluation.ablation.signatures import NamedPart, read_true_names
from scp_ray.evaluation.queries import Query, check_spans, read_queries
from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.protocols import ObjectStore
from scp_ray.sections import CorpusConfig
from scp_ray.storage.opening import open_existing

_SETS = "sets/"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """One corpus with its questions.

    Attributes:
        fingerprint: Names all of its content.
        documents: Text by doc_id, in the order of doc_id.
        queries: The questions, in the order of their file.
        names: True names by doc_id; empty where there are none.
    """

    fingerprint: str
    documents: Mapping[str, str]
    queries: Sequence[Query]
    names: Mapping[str, Sequence[NamedPart]]


def read_set(name: str, config: SetConfig, corpus: CorpusConfig) -> QuestionSet:
    """Read a set from where the ablation says that it is.

    Raises:
        ConfigError: If the corpus is not there or has a document that cannot be used, or the names
            are not in the format.
        QueriesFormatError: If the questions are not in the format, or one of them has no evidence
            or evidence that is in no document.
    """
    documents = _read_documents(name, open_existing(config.corpus), corpus)
    queries = read_queries(Path(config.queries))
    lengths = {doc_id: len(text) for doc_id, text in documents.items()}
    check_spans(queries, lengths, config.corpus)
    names = read_true_names(Path(config.true_names)) if config.true_names else {}
    if unknown := sorted(names.keys() - documents.keys()):
        message = f"{config.true_names}: the corpus has no document {unknown[0]!r}"
        raise ConfigError(message)
    content = _content(documents, queries, names)
    return QuestionSet(hashlib.sha256(content).hexdigest()[:32], documents, queries, names)


def save_set(store: ObjectStore, one: QuestionSet) -> None:
    """Keep a set beside the results."""
    store.write(_key(one.fingerprint), _content(one.documents, one.queries, one.names))


def load_set(store: ObjectStore, fingerprint: str) -> QuestionSet:
    """Return a set that ``save_set`` kept."""
    tree = json.loads(store.read(_key(fingerprint)))
    return QuestionSet(
        fingerprint,
        tree["documents"],
        [
            Query(
                query["query_id"],
                query["query"],
                tuple(RelevantSpan(**span) for span in query["relevant"]),
            )
            for query in tree["queries"]
        ],
        {doc_id: [NamedPart(**part) for part in parts] for doc_id, parts in tree["names"].items()},
    )


def _key(fingerprint: str) -> str:
    return f"{_SETS}{fingerprint}.json"


def _content(
    documents: Mapping[str, str],
    queries: Sequence[Query],
    names: Mapping[str, Sequence[NamedPart]],
) -> bytes:
    tree: dict[str, Any] = {
        "documents": dict(documents),
        "queries": [_asked(query) for query in queries],
        "names": {doc_id: [asdict(part) for part in names[doc_id]] for doc_id in sorted(names)},
    }
    return json.dumps(tree, ensure_ascii=False).encode()


def _asked(query: Query) -> dict[str, Any]:
    """Return what is asked and what answers it, and not where it was read."""
    return {
        "query_id": query.query_id,
        "query": query.query,
        "relevant": [asdict(span) for span in query.relevant],
    }


def _read_documents(name: str, store: ObjectStore, config: CorpusConfig) -> dict[str, str]:
    documents: dict[str, str] = {}
    files, _ = list_inputs(store)
    for file in files:
        rows: list[Any] = inventory_file(store, file, config)[schema.ROW_INDEX].to_pylist()
        for read in read_documents(store, file.key, rows, config):
            if isinstance(read.outcome, DocumentError):
                message = f"sets.{name}.corpus: {read.doc_id}: {read.outcome}"
                raise ConfigError(message)
            if read.outcome.doc_id in documents:
                message = f"sets.{name}.corpus: two documents are named {read.outcome.doc_id!r}"
                raise ConfigError(message)
            documents[read.outcome.doc_id] = read.outcome.text
    if not documents:
        message = f"sets.{name}.corpus: {store.url} has no document"
        raise ConfigError(message)
    return dict(sorted(documents.items()))
