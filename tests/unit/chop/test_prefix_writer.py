"""The room that a chunk leaves its prefix."""

from collections.abc import Sequence

import pytest

from scp_ray.chop.prefix_writer import PrefixedChunks, PrefixWriter
from scp_ray.embedding.hash_encoder import WordTokenizer
from scp_ray.records import ChunkSpan, Cnm

CNM = Cnm("kettle", ("lid",), "Orbis K-1")


def _write(chunk: str, tokenizer: WordTokenizer | None = None, budget: int = 9) -> PrefixedChunks:
    tokenizer = tokenizer or WordTokenizer()
    (count,) = WordTokenizer().count_tokens([chunk])
    writer = PrefixWriter(tokenizer, 20, budget)
    return writer.write([chunk], [ChunkSpan(0, len(chunk), count)], [CNM])


@pytest.mark.parametrize(
    ("num_words", "prefix", "num_shortened"),
    [
        (8, "Orbis K-1 kettle lid", 0),
        (11, "Orbis K-1 kettle lid", 0),
        (15, "Orbis K-1 kettle", 1),
        (20, "", 1),
        (21, "Orbis K-1 kettle lid", 0),  # for several windows: none of them is full
    ],
)
def test_a_prefix_has_the_room_that_its_chunk_leaves(
    num_words: int, prefix: str, num_shortened: int
) -> None:
    chunk = "lid " * num_words
    written = _write(chunk)
    assert written == ([prefix], [f"{prefix}\n{chunk}" if prefix else chunk], num_shortened)


def test_the_budget_holds_where_there_is_room() -> None:
    written = _write("lid", budget=4)
    assert WordTokenizer().count_tokens([f"{written.prefixes[0]}\n"])[0] <= 4
    assert written.prefixes[0].startswith("Orbis")
    assert written.num_shortened == 0


def test_a_prefix_that_makes_the_whole_too_long_is_dropped() -> None:
    class JoiningCosts(WordTokenizer):
        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            counts = super().count_tokens(texts)
            return [
                count + 20 * ("\nlid" in text) for count, text in zip(counts, texts, strict=True)
            ]

    assert _write("lid pump", JoiningCosts()) == ([""], ["lid pump"], 1)
