"""Which nodes of a graph a search can reach, and links for those that it cannot.

When a node's list of links is full, its graph may drop the only link to some other node; no search
finds that one again (hnswlib#352). All arrays here are views of the graph's own.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scp_ray.protocols import Float32Array, Int64Array
from scp_ray.retrieval.candidates import BoolArray

NO_LINK = -1
_BLOCK_NODES = 16_384
_BLOCK_LOST = 1024


class LinkTable(NamedTuple):
    """The links of the bottom level, which holds every node.

    Attributes:
        slots: Link targets of all nodes and levels, int32; unused ones, at the end of a node's
            own, are ``NO_LINK``.
        starts: First bottom-level slot of each node, shape (num_nodes,).
        width: Bottom-level slots of a node.
        entry: The node where searches start.
    """

    slots: npt.NDArray[np.int32]
    starts: Int64Array
    width: int
    entry: int

    def links(self, nodes: Int64Array) -> npt.NDArray[np.int32]:
        """Return the slots of some nodes, shape (n, width)."""
        targets: npt.NDArray[np.int32] = self.slots[
            self.starts[nodes, np.newaxis] + np.arange(self.width)
        ]
        return targets


def reached_nodes(table: LinkTable) -> BoolArray:
    """Return which nodes can be reached from the entry over bottom-level links."""
    reached = np.zeros(len(table.starts), dtype=np.bool_)
    frontier = np.array([table.entry] if len(reached) else [], dtype=np.int64)
    reached[frontier] = True
    while len(frontier):
        found = []
        for start in range(0, len(frontier), _BLOCK_NODES):
            targets = table.links(frontier[start : start + _BLOCK_NODES]).ravel()
            targets = targets[targets != NO_LINK]
            new = np.unique(targets[~reached[targets]])
            reached[new] = True
            found.append(new)
        frontier = np.concatenate(found).astype(np.int64)
    return reached


def link_unreached(table: LinkTable, vectors: Float32Array) -> int:
    """Give each unreachable node a link from the most similar reachable one with a free slot.

    No link is removed, so what was reachable stays so. Ends when all are reached, or when no
    reachable node has a free slot left.

    Args:
        table: Written to.
        vectors: Vectors of the nodes, shape (num_nodes, d).

    Returns:
        How many nodes are still unreachable.
    """
    reached = reached_nodes(table)
    while not reached.all():
        free = _free_slots(table)
        is_host = reached & (free > 0)
        if not is_host.any():
            break
        lost = np.flatnonzero(~reached)
        hosts = _most_similar_hosts(vectors, lost, is_host)
        _attach(table, lost, hosts, free)
        reached = reached_nodes(table)
    return int(np.count_nonzero(~reached))


def _free_slots(table: LinkTable) -> Int64Array:
    free = np.empty(len(table.starts), dtype=np.int64)
    for start in range(0, len(free), _BLOCK_NODES):
        nodes = np.arange(start, min(start + _BLOCK_NODES, len(free)))
        free[nodes] = np.count_nonzero(table.links(nodes) == NO_LINK, axis=1)
    return free


def _most_similar_hosts(vectors: Float32Array, lost: Int64Array, is_host: BoolArray) -> Int64Array:
    hosts = np.empty(len(lost), dtype=np.int64)
    for lost_start in range(0, len(lost), _BLOCK_LOST):
        part = slice(lost_start, lost_start + _BLOCK_LOST)
        queries = vectors[lost[part]]
        best = np.full(len(queries), -np.inf, dtype=np.float32)
        for start in range(0, len(vectors), _BLOCK_NODES):
            block = slice(start, start + _BLOCK_NODES)
            products = queries @ vectors[block].T
            products[:, ~is_host[block]] = -np.inf
            place = products.argmax(axis=1)
            values = products[np.arange(len(queries)), place]
            hosts[part] = np.where(values > best, place + start, hosts[part])
            best = np.maximum(best, values)
    return hosts


def _attach(table: LinkTable, lost: Int64Array, hosts: Int64Array, free: Int64Array) -> None:
    """Write links host -> lost, as many per host as it has free slots."""
    order = np.argsort(hosts, kind="stable")
    lost, hosts = lost[order], hosts[order]
    turn = np.arange(len(hosts)) - np.searchsorted(hosts, hosts)
    fits = turn < free[hosts]
    lost, hosts, turn = lost[fits], hosts[fits], turn[fits]
    table.slots[table.starts[hosts] + table.width - free[hosts] + turn] = lost
