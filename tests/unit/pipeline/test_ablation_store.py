"""The pieces of an ablation on a store."""

import numpy as np
import pyarrow as pa
import pytest

from scp_ray.errors import IndexFormatError
from scp_ray.evaluation.ablation.variant import VARIANT_SCHEMA
from scp_ray.pipeline.ablation_store import AblationStore
from scp_ray.testing.memory_store import MemoryObjectStore

ROW = {
    "doc_id": "a",
    "chunk_index": 0,
    "num_chunks": 1,
    "char_start": 3,
    "char_end": 11,
    "num_tokens": 2,
    "text": "the pump",
    "prefix": "K-1",
    "cnm_category": None,
    "cnm_nouns": [],
    "cnm_model": "K-1",
    "starts_span": True,
}


@pytest.fixture
def pieces() -> AblationStore:
    return AblationStore(MemoryObjectStore(), "e" * 64)


def test_vectors_are_found_by_their_keys_over_all_blocks(pieces: AblationStore) -> None:
    keys = [bytes([number]) * 16 for number in range(3)]
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    pieces.save_embeddings(keys[:2], vectors[:2])
    pieces.save_embeddings(keys[2:], vectors[2:])
    assert pieces.embedded() == set(keys)
    found = pieces.load_embeddings().of([keys[2], keys[0], keys[2]])
    np.testing.assert_array_equal(found, vectors[[2, 0, 2]])


def test_blocks_that_share_a_key_give_every_key_its_own_vector(pieces: AblationStore) -> None:
    keys = [bytes([number]) * 16 for number in range(4)]
    vectors = np.arange(8, dtype=np.float32).reshape(4, 2)
    for rows in ([0, 1], [1, 0], [1, 2], [2, 3]):
        pieces.save_embeddings([keys[row] for row in rows], vectors[rows])
    np.testing.assert_array_equal(pieces.load_embeddings().of(keys), vectors)


def test_vectors_of_another_encoder_are_not_found(pieces: AblationStore) -> None:
    pieces.save_embeddings([b"k" * 16], np.ones((1, 2), dtype=np.float32))
    assert AblationStore(pieces.store, "f" * 64).embedded() == set()


def test_variants_and_cells_come_back(pieces: AblationStore) -> None:
    pieces.save_variant("v1", pa.Table.from_pylist([ROW], schema=VARIANT_SCHEMA))
    cell = {"query_ids": ["q"], "num_chunks": 1, "signature_accuracy": None}
    cell["values"] = {"hit@1": [1.0]}
    pieces.save_cell("c1", cell)
    assert (pieces.variants(), pieces.cells()) == ({"v1"}, {"c1"})
    assert pieces.load_variant("v1").embedding_texts == ["K-1\nthe pump"]
    assert pieces.load_cell("c1") == cell


def test_a_damaged_piece_is_named(pieces: AblationStore) -> None:
    pieces.store.write("variants/v1.arrow", b"?")
    pieces.store.write("cells/c1.json", b"{")
    with pytest.raises(IndexFormatError, match=r"variants/v1\.arrow: .*; delete it, and run"):
        pieces.load_variant("v1")
    for cell in (b"{", b"{}", b"[]"):
        pieces.store.write("cells/c1.json", cell)
        with pytest.raises(IndexFormatError, match=r"cells/c1\.json: .*; delete it, and run"):
            pieces.load_cell("c1")
