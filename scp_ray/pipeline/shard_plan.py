"""Decides which shards a run builds and which it takes over, and has them built."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from scp_ray import schema
from scp_ray.config import Settings
from scp_ray.index.sharding import shard_of
from scp_ray.pipeline.build_stage import BuildStage, empty_shard
from scp_ray.pipeline.executor import Executor, StageSpec
from scp_ray.pipeline.plan import PublishedDocument
from scp_ray.pipeline.pools import BUILD_TASK
from scp_ray.pipeline.report import Progress
from scp_ray.pipeline.staged_parts import StagedDocument
from scp_ray.retrieval.terms import TERMS_REVISION
from scp_ray.storage.manifest import Manifest, ShardEntry

_SHAPING_INDEX_KEYS = ("num_shards", "m", "ef_construction", "positional_code_weight", "stemmer")


@dataclass
class ShardContent:
    """What a shard of the new generation holds.

    Attributes:
        staged: Documents with staged rows, by part.
        kept: Documents taken over and their names from now on, by the shard of the parent
            generation that holds them.
    """

    staged: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    kept: dict[int, dict[str, PublishedDocument]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def is_empty(self) -> bool:
        """Whether the shard has no document."""
        return not self.staged and not self.kept


def shard_contents(
    staged: Mapping[str, StagedDocument],
    kept: Mapping[str, PublishedDocument],
    num_shards: int,
) -> list[ShardContent]:
    """Return what each shard of the new generation holds, by shard_id."""
    contents = [ShardContent() for _ in range(num_shards)]
    for doc_id, document in sorted(staged.items()):
        contents[shard_of(doc_id, num_shards)].staged[document.part].append(doc_id)
    for doc_id, published in sorted(kept.items()):
        contents[shard_of(doc_id, num_shards)].kept[published.shard_id][doc_id] = published
    return contents


def reusable_shards(
    contents: Iterable[ShardContent], parent: Manifest | None, settings: Settings
) -> dict[int, ShardEntry]:
    """Return the shards that need no build: empty ones, and those that stay as they are."""
    entries = {entry.shard_id: entry for entry in parent.shards} if parent else {}
    same_shape = (
        parent is not None
        and _shape(parent.settings["index"]) == _shape(settings.index.model_dump())
        and parent.terms.revision == TERMS_REVISION
    )
    reusable: dict[int, ShardEntry] = {}
    for shard_id, content in enumerate(contents):
        entry = entries.get(shard_id)
        if content.is_empty:
            reusable[shard_id] = empty_shard(shard_id)
        elif entry and same_shape and _is_unchanged(content, entry, settings.index.min_recall):
            reusable[shard_id] = entry
    return reusable


@dataclass(frozen=True, slots=True)
class MadeShards:
    """The shards of a new generation.

    Attributes:
        entries: All of them, ascending.
        num_built: How many of them were built; the others stay as they were.
        seconds: What the workers took.
    """

    entries: list[ShardEntry]
    num_built: int
    seconds: float


def make_shards(
    executor: Executor,
    index: str,
    contents: Sequence[ShardContent],
    parent: Manifest | None,
    settings: Settings,
    progress: Progress,
) -> MadeShards:
    """Take over the shards that stay as they are, and build the others.

    Raises:
        IndexQualityError, ChecksumError: As ``build_shards``.
    """
    reusable = reusable_shards(contents, parent, settings)
    to_build = {
        shard_id: content for shard_id, content in enumerate(contents) if shard_id not in reusable
    }
    built, seconds = build_shards(executor, index, to_build, parent, settings, progress)
    entries = sorted([*reusable.values(), *built], key=lambda entry: entry.shard_id)
    return MadeShards(entries, len(built), seconds)


def build_shards(
    executor: Executor,
    index: str,
    contents: Mapping[int, ShardContent],
    parent: Manifest | None,
    settings: Settings,
    progress: Progress,
) -> tuple[list[ShardEntry], float]:
    """Build shards and write their files; returns their entries and the workers' seconds.

    Raises:
        IndexQualityError: If a shard misses the recall that the settings ask for.
        ChecksumError: If staged or kept rows are damaged.
    """
    entries = {entry.shard_id: entry for entry in parent.shards} if parent else {}
    rows = [
        {
            schema.SHARD_ID: shard_id,
            schema.PARTS: [
                {schema.PART: part, schema.DOC_IDS: doc_ids}
                for part, doc_ids in content.staged.items()
            ],
            schema.KEPT: [
                {
                    schema.SHARD: entries[shard_id].model_dump_json(),
                    schema.KEPT_DOCUMENTS: [
                        {
                            schema.KEPT_AS: document.doc_id,
                            schema.DOC_ID: doc_id,
                            schema.SOURCE_URI: document.source_uri,
                        }
                        for doc_id, document in documents.items()
                    ],
                }
                for shard_id, documents in content.kept.items()
            ],
        }
        for shard_id, content in contents.items()
    ]
    table = pa.Table.from_pylist(rows, schema=schema.BUILDS)
    stage = StageSpec(BUILD_TASK, partial(BuildStage, index, settings), batch_rows=1)
    built: list[ShardEntry] = []
    seconds = 0.0
    for outcome in executor.run(table, [stage]):
        for row in outcome.to_pylist():
            built.append(ShardEntry.model_validate_json(row[schema.ENTRY_JSON]))
            seconds += row[schema.BUILD_S]
            progress(f"built {len(built)}/{len(rows)} shards")
    return built, seconds


def _shape(index_settings: Mapping[str, object]) -> list[object]:
    return [index_settings.get(key) for key in _SHAPING_INDEX_KEYS]


def _is_unchanged(content: ShardContent, entry: ShardEntry, min_recall: float) -> bool:
    if entry.recall < min_recall:  # the floor was raised since: build and audit it again
        return False
    if content.staged or set(content.kept) != {entry.shard_id}:
        return False
    kept = content.kept[entry.shard_id]
    is_renamed = any(doc_id != document.doc_id for doc_id, document in kept.items())
    return not is_renamed and len(kept) == entry.num_documents
