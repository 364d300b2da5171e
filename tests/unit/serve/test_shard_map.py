"""Which group holds which shards: all of them once, none more than its memory."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.config import Settings
from scp_ray.serve.shard_map import ShardMap, num_groups_for, spread_shards
from scp_ray.storage.manifest import EncoderEntry, Manifest, ShardEntry, StoredFile, TermsEntry

MB = 1_000_000
SHA = "0" * 64
sizes_in_mb = st.lists(st.integers(0, 40), min_size=1, max_size=24)


def manifest(sizes: list[int]) -> Manifest:
    """A generation of shards of so many MB."""
    shards = [
        ShardEntry(
            shard_id=number,
            folder=f"shards/{number}" if size else None,
            files={"index.faiss": StoredFile(sha256=SHA, size_bytes=size * MB)} if size else {},
            num_documents=size,
            num_chunks=size,
            recall=1.0,
        )
        for number, size in enumerate(sizes)
    ]
    return Manifest(
        format_version=2,
        generation=1,
        run_id="run",
        parent=None,
        created_at="2026-01-01T00:00:00+00:00",
        corpus="corpus",
        num_documents=sum(sizes),
        num_chunks=sum(sizes),
        encoder=EncoderEntry(model="m", dtype="float32", revision=SHA, dim=8, max_tokens=9),
        annotator_revision="none",
        fingerprint=SHA,
        settings=Settings().model_dump(mode="json"),
        settings_hash=SHA,
        software={},
        terms=TermsEntry(file=StoredFile(sha256=SHA, size_bytes=1), revision="1", num_terms=0),
        shards=shards,
    )


def fewest_bins(sizes: list[int], memory: int) -> int:
    """The fewest groups that there can be, by trying all ways; for a few shards."""
    best = len(sizes)

    def place(rest: list[int], bins: list[int]) -> None:
        nonlocal best
        if len(bins) >= best:
            return
        if not rest:
            best = len(bins)
            return
        for number, filled in enumerate(bins):
            if filled + rest[0] <= memory:
                place(rest[1:], [*bins[:number], filled + rest[0], *bins[number + 1 :]])
        place(rest[1:], [*bins, rest[0]])

    place(sorted(sizes, reverse=True), [])
    return max(best, 1)


@given(sizes_in_mb, st.integers(1, 40))
def test_every_shard_is_in_one_group_and_no_group_is_empty(
    sizes: list[int], num_groups: int
) -> None:
    groups = spread_shards(manifest(sizes), num_groups)
    assert sorted(shard for group in groups for shard in group) == list(range(len(sizes)))
    assert len(groups) == min(num_groups, len(sizes))
    assert all(group == sorted(group) != [] for group in groups)


@given(sizes_in_mb, st.integers(1, 10))
def test_groups_differ_by_no_more_than_the_largest_shard(sizes: list[int], num_groups: int) -> None:
    groups = spread_shards(manifest(sizes), num_groups)
    loads = [sum(sizes[shard] for shard in group) for group in groups]
    assert max(loads) - min(loads) <= max(sizes)


@given(sizes_in_mb, st.integers(1, 60))
def test_no_group_is_over_its_memory_unless_it_is_one_shard(sizes: list[int], memory: int) -> None:
    settings = Settings().with_values("serve", num_groups=0, memory_per_replica_mb=memory)
    groups = ShardMap.of(manifest(sizes), settings).groups
    assert sorted(shard for group in groups for shard in group) == list(range(len(sizes)))
    for group in groups:
        assert len(group) == 1 or sum(sizes[shard] for shard in group) <= memory


@given(sizes_in_mb, st.lists(st.integers(1, 400), min_size=2, max_size=6))
def test_more_memory_never_takes_more_groups(sizes: list[int], memories: list[int]) -> None:
    numbers = [num_groups_for(manifest(sizes), memory) for memory in sorted(memories)]
    assert numbers == sorted(numbers, reverse=True)
    assert all(number <= len(sizes) for number in numbers)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(1, 30))
def test_it_takes_at_most_a_third_more_groups_than_the_best_packing(
    sizes: list[int], memory: int
) -> None:
    number = num_groups_for(manifest(sizes), memory)
    fewest = fewest_bins([min(size, memory) for size in sizes], memory)
    assert fewest <= number <= max(fewest + 1, fewest * 4 // 3)


@given(sizes_in_mb, sizes_in_mb, st.integers(1, 8))
def test_shards_stay_where_they_are_while_there_are_as_many(
    first: list[int], later: list[int], num_groups: int
) -> None:
    settings = Settings().with_values("serve", num_groups=num_groups)
    shard_map = ShardMap.of(manifest(first), settings)
    again = (later * len(first))[: len(first)]
    assert shard_map.shards_of(manifest(again)) == [list(group) for group in shard_map.groups]
    others = shard_map.shards_of(manifest(later))
    assert sorted(shard for group in others for shard in group) == list(range(len(later)))
    assert len(others) == len(shard_map.groups)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: manifest([10, 10, 10, 10]), 2),
        (lambda: manifest([50, 1, 1]), 3),
        (lambda: manifest([0, 0, 0]), 1),
        (lambda: manifest([20]), 1),
    ],
)
def test_as_many_groups_as_a_memory_of_twenty_takes(
    make: Callable[[], Manifest], expected: int
) -> None:
    assert num_groups_for(make(), 20) == expected
