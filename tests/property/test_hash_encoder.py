"""The hash encoder gives every text its own bits, whatever it is encoded with."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.embedding.hash_encoder import HashEncoder, WordTokenizer

texts = st.text(max_size=80)
dims = st.integers(1, 70)


@given(st.lists(texts, min_size=1, max_size=6), dims, st.data())
def test_vectors_do_not_depend_on_the_batch(
    batch: list[str], dim: int, data: st.DataObject
) -> None:
    encoder = HashEncoder(dim)
    embeddings = encoder.encode(batch)
    assert embeddings.dtype == np.float32
    assert embeddings.shape == (len(batch), dim)
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1.0, atol=1e-5)
    order = data.draw(st.permutations(range(len(batch))))
    shuffled = HashEncoder(dim).encode([batch[row] for row in order])
    assert shuffled.tobytes() == embeddings[list(order)].tobytes()
    for text, embedding in zip(batch, embeddings, strict=True):
        assert encoder.encode([text])[0].tobytes() == embedding.tobytes()


@given(texts, dims)
def test_case_and_marks_do_not_count(text: str, dim: int) -> None:
    plain, marked = HashEncoder(dim).encode([text, f" ... {text} !?"])
    np.testing.assert_array_equal(plain, marked)


@given(texts)
def test_tokens_cover_all_but_white_space(text: str) -> None:
    offsets = WordTokenizer().token_offsets(text)
    assert WordTokenizer().count_tokens([text]) == [len(offsets)]
    covered = "".join(text[start:end] for start, end in offsets)
    assert covered == "".join(text.split())
    assert (offsets[1:, 0] >= offsets[:-1, 1]).all()
