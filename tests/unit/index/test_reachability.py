"""Reachability over bottom-level links, and its repair."""

import numpy as np
import pytest

from scp_ray.index import reachability
from scp_ray.index.reachability import NO_LINK, LinkTable, link_unreached, reached_nodes


def table(links: list[list[int]], width: int, entry: int = 0) -> LinkTable:
    slots = np.full(len(links) * width, NO_LINK, dtype=np.int32)
    for node, targets in enumerate(links):
        slots[node * width : node * width + len(targets)] = targets
    return LinkTable(slots, np.arange(len(links)) * width, width, entry)


def links_of(links: LinkTable, node: int) -> list[int]:
    return [target for target in links.links(np.array([node]))[0].tolist() if target != NO_LINK]


CIRCLE = np.array([[np.cos(angle), np.sin(angle)] for angle in range(6)], dtype=np.float32)


def test_reached_are_the_entry_and_what_links_lead_to() -> None:
    links = table([[1], [2], [0], [0], []], width=2)
    assert reached_nodes(links).tolist() == [True, True, True, False, False]
    assert reached_nodes(links._replace(entry=3)).tolist() == [True, True, True, True, False]


def test_an_empty_graph_is_reached() -> None:
    links = LinkTable(np.empty(0, np.int32), np.empty(0, np.int64), 4, -1)
    assert reached_nodes(links).tolist() == []
    assert link_unreached(links, np.empty((0, 2), dtype=np.float32)) == 0


def test_a_lost_node_is_linked_from_the_most_similar_reached_one() -> None:
    links = table([[1], [2], [0], [0]], width=2)
    assert link_unreached(links, CIRCLE[:4]) == 0
    assert links_of(links, 2) == [0, 3]
    assert links_of(links, 1) == [2]
    assert reached_nodes(links).all()


def test_links_that_were_there_stay() -> None:
    before = [[1, 2], [2], [0], [0], [3]]
    links = table(before, width=3)
    assert link_unreached(links, CIRCLE[:5]) == 0
    for node, targets in enumerate(before):
        assert links_of(links, node)[: len(targets)] == targets


def test_a_full_node_takes_no_more_and_later_rounds_use_the_new_ones() -> None:
    links = table([[1], [0], [], [], [], []], width=2)
    assert link_unreached(links, CIRCLE) == 0
    assert reached_nodes(links).all()
    assert all(len(links_of(links, node)) <= 2 for node in range(6))


def test_without_a_free_slot_it_says_how_many_stay_lost() -> None:
    links = table([[1], [0], [0], [0]], width=1)
    assert link_unreached(links, CIRCLE[:4]) == 2


def test_the_walk_equals_a_plain_one_in_any_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "_BLOCK_NODES", 3)
    generator = np.random.default_rng(0)
    for _ in range(30):
        count = int(generator.integers(1, 40))
        width = min(3, count)
        graph = [
            generator.choice(count, size=generator.integers(0, width), replace=False).tolist()
            for _ in range(count)
        ]
        seen, waiting = {0}, [0]
        while waiting:
            new = set(graph[waiting.pop()]) - seen
            seen |= new
            waiting += new
        links = table(graph, width)
        assert np.flatnonzero(reached_nodes(links)).tolist() == sorted(seen)
        vectors = generator.standard_normal((count, 4)).astype(np.float32)
        assert link_unreached(links, vectors) == 0
