"""Table 2 of CHOP (arXiv:2604.15802), and how its set-up differs from ours."""

from typing import Final, NamedTuple


class PublishedRow(NamedTuple):
    """Figures of one system at one number of passages."""

    system: str
    num_passages: int
    token_f1: float
    rouge_l: float
    bert_score: float


CHOP_TABLE_2: Final = (
    PublishedRow("Naive-500T", 3, 0.3497, 0.3144, 0.7253),
    PublishedRow("Cosine-Chunking", 3, 0.3093, 0.2730, 0.7119),
    PublishedRow("CHOP", 3, 0.3513, 0.3164, 0.7257),
    PublishedRow("Naive-500T", 5, 0.3792, 0.3394, 0.7338),
    PublishedRow("Cosine-Chunking", 5, 0.3351, 0.2962, 0.7206),
    PublishedRow("CHOP", 5, 0.3814, 0.3412, 0.7349),
    PublishedRow("Naive-500T", 10, 0.4072, 0.3573, 0.7381),
    PublishedRow("Cosine-Chunking", 10, 0.3577, 0.3107, 0.7256),
    PublishedRow("CHOP", 10, 0.4080, 0.3591, 0.7396),
)


class BertSetup(NamedTuple):
    """What our BERTScore comes from.

    Attributes:
        model: Its model.
        layer: The layer whose vectors are compared.
        is_encoder: Whether it is the index's encoder, for want of another.
        num_cut: Answers and references that are longer than it reads.
    """

    model: str
    layer: int
    is_encoder: bool
    num_cut: int


class OwnSetup(NamedTuple):
    """What our figures come from.

    Attributes:
        file: The query file.
        model: The language model.
        encoder: The index's encoder.
        chunk_size_tokens: Of the index.
        overlap_tokens: Of the index.
        bert: BERTScore; None = not measured.
    """

    file: str
    model: str
    encoder: str
    chunk_size_tokens: int
    overlap_tokens: int
    bert: BertSetup | None


def differences(own: OwnSetup, num_questions: int) -> tuple[str, ...]:
    """Return what keeps the figures from being compared number by number, a sentence each."""
    answers = (
        "Answers: the paper's are by Gemma-12B at temperature 0, with a prompt that it does not "
        f"print; here by {own.model} at temperature 0, with this project's prompt."
    )
    questions = (
        "Questions: the paper has 390 over 40 manuals (MRAMG-Bench, merged into one text); here "
        f"{num_questions} of {own.file}."
    )
    retrieval = (
        "Retrieval: the paper has text-embedding-3-large and ChromaDB, and does not give the size "
        f"of CHOP's chunks; here {own.encoder} with words and positions, and chunks of "
        f"{own.chunk_size_tokens} tokens that share {own.overlap_tokens}. The same number of "
        "passages is another amount of text."
    )
    words = (
        "F1 and ROUGE-L: the paper does not say how it counts words; here as SQuAD does, and as "
        "rouge-score does without stemming."
    )
    groundedness = (
        "Groundedness is not in the paper. The language model that answers judges its own "
        "sentences, so the figure compares numbers of passages, and not models."
    )
    return (answers, questions, retrieval, words, _bert_difference(own.bert), groundedness)


def _bert_difference(bert: BertSetup | None) -> str:
    if bert is None:
        return "BERTScore was not measured here."
    role = ", the index's encoder, which was not made for it," if bert.is_encoder else ""
    cut = f" {bert.num_cut} texts are longer than it reads." if bert.num_cut else ""
    return (
        f"BERTScore: the paper does not name its model and scaling; here {bert.model}{role} at "
        f"layer {bert.layer}, without rescaling. Its figures can only be compared with others of "
        f"the same model.{cut}"
    )
