"""The full scan in float32."""

import numpy as np

from scp_ray.retrieval.exact_scan import largest, scan_products
from scp_ray.retrieval.positional_code import positional_code, store_vectors


def test_products_are_those_of_the_stored_vectors() -> None:
    generator = np.random.default_rng(0)
    embeddings = generator.standard_normal((50, 8)).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    positions = generator.uniform(size=50)
    vector = generator.standard_normal(10).astype(np.float32)
    codes = positional_code(positions).astype(np.float32)
    for code in (vector[8:], np.zeros(2, np.float32)):
        query = np.concatenate([vector[:8], code])
        products = scan_products(embeddings, codes, query, 0.3)
        assert products.dtype == np.float32
        np.testing.assert_allclose(
            products, store_vectors(embeddings, positions, 0.3) @ query, atol=1e-5
        )


def test_largest_come_in_descending_order() -> None:
    products = np.array([0.1, 0.5, 0.3, 0.9], dtype=np.float32)
    values, rows = largest(products, 3)
    assert rows.tolist() == [3, 1, 2]
    assert values.tolist() == products[[3, 1, 2]].tolist()


def test_fewer_than_asked_are_all_there_are() -> None:
    assert largest(np.array([0.1, 0.2], dtype=np.float32), 9)[1].tolist() == [1, 0]
    assert largest(np.empty(0, dtype=np.float32), 9)[1].tolist() == []


def test_only_allowed_rows_are_listed() -> None:
    products = np.array([0.1, 0.5, 0.3, 0.9, 0.2], dtype=np.float32)
    allowed = np.array([True, False, True, False, True])
    assert largest(products, 2, allowed)[1].tolist() == [2, 4]
    assert largest(products, 9, allowed)[1].tolist() == [2, 4, 0]
    assert largest(products, 9, np.zeros(5, dtype=np.bool_))[1].tolist() == []
