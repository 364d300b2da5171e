"""Term statistics of a generation: in how many chunks of all shards each term occurs."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from scp_ray import schema
from scp_ray.errors import IndexFormatError
from scp_ray.index.columns import integers
from scp_ray.index.term_table import Collection, SortedTerms, TermTable, read_term_table
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import CollectionSize, LexicalQuery, weigh_question
from scp_ray.retrieval.terms import TERMS_REVISION, terms_of
from scp_ray.sections import LexicalConfig

# Rows that are gathered before they are summed: bounds the memory of a sum over many shards to
# the distinct terms and this.
_GATHERED_ROWS = 4_000_000


def sum_term_statistics(shards: Iterable[TermTable]) -> TermTable:
    """Add up the term tables of shards, one after another.

    Args:
        shards: ``schema.TERMS``, one a shard.

    Returns:
        ``schema.TERMS``, sorted by term.

    Raises:
        IndexFormatError: If the text of a shard became terms in another way than this version's.
    """
    num_chunks = num_terms = num_gathered = 0
    gathered = [schema.TERMS.empty_table()]
    for table, collection in shards:
        _require_revision(collection)
        num_chunks += collection.num_chunks
        num_terms += collection.num_terms
        gathered.append(table)
        num_gathered += table.num_rows
        if num_gathered > _GATHERED_ROWS:
            gathered, num_gathered = [_summed(gathered)], 0
    collection = Collection(
        terms_revision=TERMS_REVISION, num_chunks=num_chunks, num_terms=num_terms
    )
    return TermTable(_summed(gathered).sort_by(schema.TERM), collection)


def _require_revision(collection: Collection) -> None:
    if collection.terms_revision != TERMS_REVISION:
        message = (
            f"the words of a shard were made by revision {collection.terms_revision}, this version "
            f"makes them by revision {TERMS_REVISION}; run `scp-ray index` again"
        )
        raise IndexFormatError(message)


def _summed(tables: list[pa.Table]) -> pa.Table:
    groups = pa.concat_tables(tables).group_by(schema.TERM, use_threads=False)
    summed = groups.aggregate([(schema.CHUNK_FREQUENCY, "sum")])
    named = summed.rename_columns({f"{schema.CHUNK_FREQUENCY}_sum": schema.CHUNK_FREQUENCY})
    return schema.ensure_schema(named, schema.TERMS, "term statistics")


class TermStatistics:
    """The words of a generation, as a question needs them. Threads may share an instance.

    Args:
        terms: ``schema.TERMS``, sorted.
        config: Gives ``k1``, ``b`` and ``pair_weight``.
        stemmer: What the terms were made with.
    """

    def __init__(self, terms: TermTable, config: LexicalConfig, stemmer: Stemmer) -> None:
        self._terms = SortedTerms(terms.table)
        self._frequencies = integers(terms.table, schema.CHUNK_FREQUENCY)
        self._collection = terms.collection
        self._config = config
        self._stemmer = stemmer

    @classmethod
    def open(cls, path: Path, config: LexicalConfig, stemmer: Stemmer) -> "TermStatistics":
        """Map the statistics of a generation.

        Raises:
            IndexFormatError: If the file is missing or not such a table.
        """
        return cls(read_term_table(path), config, stemmer)

    def weigh(self, question: str) -> LexicalQuery:
        """Return the known words and pairs of a question with their weights; may be none."""
        size = CollectionSize(self._collection.num_chunks, self._collection.num_terms)
        return weigh_question(
            terms_of(question, self._stemmer), self._frequency_of, size, self._config
        )

    def _frequency_of(self, term: str) -> int:
        place = self._terms.find(term)
        return 0 if place is None else int(self._frequencies[place])
