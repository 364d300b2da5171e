"""Some shards of one generation, opened in this process: what one replica serves."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from scp_ray.chop.prefix import embedding_text
from scp_ray.config import Settings
from scp_ray.errors import IndexQualityError
from scp_ray.index.shard import Shard, StoredChunk
from scp_ray.protocols import Float32Array
from scp_ray.records import ChunkKey, PositionPrior, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.filters import allowed_rows, parse_filter
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.shard_search import first_pass
from scp_ray.retrieval.two_pass import (
    FilteredShard,
    Mapper,
    QueryOutcome,
    first_pass_over,
    one_by_one,
    query_shards,
    second_pass_over,
)
from scp_ray.serve.models import CnmModel, ResultModel
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import local_cache, open_store


class ShardGroup:
    """Shards of one generation; reads only, so threads may share it.

    Attributes:
        shard_ids: The shards that it answers for, empty ones included.
    """

    def __init__(
        self, shard_ids: Iterable[int], shards: Sequence[Shard], run: Mapper = one_by_one
    ) -> None:
        self.shard_ids = frozenset(shard_ids)
        self._shards = {shard.shard_id: shard for shard in shards}
        self._run = run

    @classmethod
    def open(
        cls,
        index: str,
        manifest: Manifest,
        shard_ids: Iterable[int],
        settings: Settings,
        run: Mapper = one_by_one,
    ) -> "ShardGroup":
        """Fetch and check the files of shards and map them.

        Args:
            index: Address of the index.
            manifest: The generation.
            shard_ids: The shards wanted.
            settings: ``index.ef_search`` counts where it is more than the index was made with.
            run: Searches shards, perhaps in threads.

        Raises:
            ChecksumError: If a file is missing or damaged.
        """
        wanted = set(shard_ids)
        store, cache = open_store(index), local_cache()
        ef_search = max(int(manifest.settings["index"]["ef_search"]), settings.index.ef_search)
        shards = [
            Shard(
                fetch_verified(store, entry.folder, entry.checksums, cache),
                shard_id=entry.shard_id,
                ef_search=ef_search,
            )
            for entry in manifest.shards
            if entry.shard_id in wanted and entry.folder is not None
        ]
        return cls(wanted, shards, run)

    def check(self, settings: Settings) -> None:
        """Search every shard for a vector of its own, and read what is found.

        Raises:
            IndexQualityError: If a shard that has chunks finds none.
        """
        params = settings.query_params(top_k=1)
        for shard in self._shards.values():
            vector = shard.embeddings(np.zeros(min(1, shard.num_chunks), dtype=np.int64))
            for row in vector:
                hits = first_pass(shard, row, params)
                if not hits or not self.results(hits[:1]):
                    message = f"shard {shard.shard_id}: a search for a vector of its own finds none"
                    raise IndexQualityError(message)

    def first_pass(
        self, query: Float32Array, params: QueryParams, row_filter: dict[str, Any] | None
    ) -> list[ScoredChunk]:
        """Return the group's best chunks by cosine, in rank order."""
        return first_pass_over(self._filtered(row_filter), query, params, self._run)

    def second_pass(
        self,
        question: Question,
        prior: PositionPrior | None,
        params: QueryParams,
        row_filter: dict[str, Any] | None,
    ) -> Selection:
        """Return the group's selection under a prior that all groups share."""
        return second_pass_over(self._filtered(row_filter), question, prior, params, self._run)

    def search(
        self, question: Question, params: QueryParams, row_filter: dict[str, Any] | None
    ) -> QueryOutcome:
        """Run the whole query over the group's shards, with the prior that ``params`` asks for."""
        return query_shards(self._filtered(row_filter), question, params, self._run)

    def results(self, hits: Iterable[ScoredChunk]) -> dict[ChunkKey, ResultModel]:
        """Return text and origin of the hits that lie in this group."""
        return {hit.key: _result(hit, chunk) for hit, chunk in self._stored(hits)}

    def texts(self, hits: Iterable[ScoredChunk]) -> dict[ChunkKey, str]:
        """Return what was embedded, prefix and chunk, of the hits that lie in this group."""
        return {
            hit.key: embedding_text(chunk.prefix, chunk.text) for hit, chunk in self._stored(hits)
        }

    def _stored(self, hits: Iterable[ScoredChunk]) -> Iterator[tuple[ScoredChunk, StoredChunk]]:
        by_shard: dict[int, list[ScoredChunk]] = {}
        for hit in hits:
            if hit.shard_id in self._shards:
                by_shard.setdefault(hit.shard_id, []).append(hit)
        for shard_id, mine in by_shard.items():
            chunks = self._shards[shard_id].stored_chunks([hit.row for hit in mine])
            yield from zip(mine, chunks, strict=True)

    def _filtered(self, row_filter: dict[str, Any] | None) -> list[FilteredShard]:
        if row_filter is None:
            return [FilteredShard(shard, None) for shard in self._shards.values()]
        conditions = parse_filter(row_filter)
        return [
            FilteredShard(shard, allowed_rows(conditions, shard)) for shard in self._shards.values()
        ]


def _result(hit: ScoredChunk, chunk: StoredChunk) -> ResultModel:
    cnm = chunk.cnm
    return ResultModel(
        doc_id=chunk.key.doc_id,
        chunk_index=chunk.key.chunk_index,
        num_chunks=chunk.num_chunks,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        text=chunk.text,
        score=hit.score,
        semantic_score=hit.semantic_score,
        lexical_score=hit.lexical_score,
        position_score=hit.position_score,
        rerank_score=None,
        position=hit.position,
        cnm=CnmModel(category=cnm.category, nouns=list(cnm.nouns), model=cnm.model),
        source_uri=chunk.source_uri,
        metadata=dict(chunk.metadata),
        shard_id=hit.shard_id,
    )
