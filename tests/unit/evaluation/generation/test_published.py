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


def test_the_table_is_the_papers() -> None:
    copied = {
        3: ".3497/.3144/.7253, .3093/.2730/.7119, .3513/.3164/.7257",
        5: ".3792/.3394/.7338, .3351/.2962/.7206, .3814/.3412/.7349",
        10: ".4072/.3573/.7381, .3577/.3107/.7256, .4080/.3591/.7396",
    }
    systems = ("Naive-500T", "Cosine-Chunking", "CHOP")
    assert list(CHOP_TABLE_2) == [
        (system, num_passages, *map(float, cell.split("/")))
        for num_passages, cells in copied.items()
        for system, cell in zip(systems, cells.split(", "), strict=True)
    ]


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
