"""What reviews of an index's own results need of it: the results, and the lengths of its texts."""

from collections.abc import Callable, Sequence

from scp_ray import schema
from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.sampling import Answer
from scp_ray.evaluation.metrics import CUTOFF
from scp_ray.evaluation.queries import Query
from scp_ray.index.shard_files import DOCUMENTS_FILE, read_documents
from scp_ray.serve.measuring import ask_all
from scp_ray.serve.models import ResultModel
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import local_cache, open_store
from scp_ray.storage.publish import load_current


def answer_queries(
    searcher: LocalSearcher, queries: Sequence[Query], progress: Callable[[str], None]
) -> list[Answer]:
    """Ask every query for ten results, and return them all.

    Args:
        searcher: The open index.
        queries: At least one.
        progress: Told a line every fifty questions.

    Raises:
        ConfigError: If a question cannot be asked of this index, or none has a result.
    """
    answers: list[Answer] = []
    for query, reply in ask_all(searcher, queries, progress, top_k=CUTOFF):
        answers += [
            _answer(query, rank, result, reply.generation)
            for rank, result in enumerate(reply.results, 1)
        ]
    if not answers:
        message = "no query has a result, so there is nothing to review"
        raise ConfigError(message)
    return answers


def document_lengths(index: str, manifest: Manifest | None = None) -> dict[str, int]:
    """Return the number of characters of every document's text in a generation.

    Args:
        index: Address of the index.
        manifest: The generation; None = the current one.

    Raises:
        IndexFormatError: If there is no index, or this version cannot read it.
        ChecksumError: If a file is missing or damaged.
    """
    store, cache = open_store(index), local_cache()
    lengths: dict[str, int] = {}
    for entry in (manifest or load_current(store)).shards:
        if entry.folder is None:
            continue
        wanted = {DOCUMENTS_FILE: entry.checksums[DOCUMENTS_FILE]}
        table = read_documents(fetch_verified(store, entry.folder, wanted, cache))
        lengths.update(
            (str(row[schema.DOC_ID]), int(row[schema.NUM_CHARACTERS]))
            for row in table.select([schema.DOC_ID, schema.NUM_CHARACTERS]).to_pylist()
        )
    return lengths


def _answer(query: Query, rank: int, result: ResultModel, generation: int) -> Answer:
    return Answer(
        query.query_id,
        query.query,
        rank,
        result.doc_id,
        result.chunk_index,
        result.char_start,
        result.char_end,
        result.text,
        result.score,
        result.cnm.category or "",
        generation,
    )
