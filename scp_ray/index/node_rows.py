"""From nodes of the graph to the chunks behind them."""

import numpy as np

from scp_ray.protocols import Float32Array, Int64Array


class NodeRows:
    """The rows that share each node of a graph.

    Args:
        node_of_row: The node of each row, shape (num_rows,); each node occurs.
        num_nodes: Nodes of the graph.
    """

    def __init__(self, node_of_row: Int64Array, num_nodes: int) -> None:
        self._is_identity = np.array_equal(node_of_row, np.arange(num_nodes))
        if not self._is_identity:
            counts = np.bincount(node_of_row, minlength=num_nodes)
            self._counts = counts
            self._starts = np.cumsum(counts) - counts
            self._rows = np.argsort(node_of_row, kind="stable")

    def expand(self, products: Float32Array, nodes: Int64Array) -> tuple[Float32Array, Int64Array]:
        """Return the rows of nodes, in the order of the nodes, each with its node's product."""
        if self._is_identity:
            return products, nodes
        counts = self._counts[nodes]
        ends = np.cumsum(counts)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        places = np.repeat(self._starts[nodes], counts) + within
        return np.repeat(products, counts), self._rows[places]
