"""From nodes to the rows behind them."""

import numpy as np

from scp_ray.index.node_rows import NodeRows


def test_a_shared_node_gives_all_its_rows_in_order() -> None:
    rows = NodeRows(np.array([0, 1, 0, 2, 1, 0]), 3)
    products, found = rows.expand(np.array([0.9, 0.5], dtype=np.float32), np.array([1, 0]))
    assert found.tolist() == [1, 4, 0, 2, 5]
    assert products.tolist() == np.array([0.9, 0.9, 0.5, 0.5, 0.5], dtype=np.float32).tolist()


def test_without_shared_nodes_rows_are_nodes() -> None:
    rows = NodeRows(np.arange(4), 4)
    products, found = rows.expand(np.array([0.9, 0.5], dtype=np.float32), np.array([3, 1]))
    assert (len(products), found.tolist()) == (2, [3, 1])


def test_no_nodes_no_rows() -> None:
    nothing = np.empty(0, dtype=np.int64)
    products, found = NodeRows(np.array([0, 0]), 1).expand(np.empty(0, dtype=np.float32), nothing)
    assert (products.tolist(), found.tolist()) == ([], [])
