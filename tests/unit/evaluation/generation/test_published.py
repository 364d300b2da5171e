"""The paper's table, and what is said of the differences."""

import pytest

from scp_ray.evaluation.generation.published import (
    CHOP_TABLE_2,
    BertSetup,
    OwnSetup,
    differences,
)


def setup(bert: BertSetup | None) -> OwnSetup:
    return OwnSetup("manuals.jsonl", "qwen", "all-MiniLM-L6-v2", 200, 50, bert)


def test_the_paper_gains_little_in_generation() -> None:
    by_name = {(row.system, row.num_passages): row for row in CHOP_TABLE_2}
    assert len(by_name) == 9
    for size in (3, 5, 10):
        chop, naive = by_name["CHOP", size], by_name["Naive-500T", size]
        assert 0 < chop.token_f1 - naive.token_f1 < 0.003


def test_our_set_up_is_named() -> None:
    said = " ".join(differences(setup(None), 48))
    for name in ("qwen", "48 of manuals.jsonl", "all-MiniLM-L6-v2", "200 tokens that share 50"):
        assert name in said
    assert "BERTScore was not measured" in said


@pytest.mark.parametrize(
    ("bert", "expected"),
    [
        (BertSetup("all-MiniLM-L6-v2", 6, True, 0), "the index's encoder, which was not made for"),
        (BertSetup("roberta", 17, False, 0), "here roberta at layer 17, without"),
        (BertSetup("roberta", 17, False, 3), "3 texts are longer than it reads."),
    ],
)
def test_the_model_of_bert_score_is_named(bert: BertSetup, expected: str) -> None:
    assert any(expected in sentence for sentence in differences(setup(bert), 48))
