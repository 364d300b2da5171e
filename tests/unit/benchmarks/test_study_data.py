"""The folder of the ablation study: names and questions of a stitched file."""

from benchmarks.study_data import part_names, questions_of_parts, true_names

MANUALS = {
    "m1.md": "# K-1 User Manual\n\nFill the tank.\nEmpty the tank.\n",
    "m2.md": "# K-2 User Manual\n\nLift the lid.\n",
    "notes.md": "No title here.\n",
}
STITCHED = {"all.md": "K-2\n\nLift the lid.\nK-1\n\nFill the tank.\n"}
PARTS = [
    {"doc_id": "all.md", "char_start": 0, "char_end": 19, "model": "K-2"},
    {"doc_id": "all.md", "char_start": 19, "char_end": 39, "model": "K-1"},
]


def _question(doc_id: str, words: str) -> dict[str, object]:
    start = MANUALS[doc_id].index(words)
    span = {"doc_id": doc_id, "char_start": start, "char_end": start + len(words)}
    return {"query_id": words, "query": words, "relevant": [span]}


def test_titles_and_parts_name_what_they_are_about() -> None:
    assert true_names(MANUALS) == {"m1.md": "K-1", "m2.md": "K-2"}
    assert part_names(PARTS)["all.md"][1] == {"char_start": 19, "char_end": 39, "name": "K-1"}


def test_questions_move_to_where_their_evidence_is() -> None:
    questions = [
        _question("m1.md", "Fill the tank."),
        _question("m1.md", "Empty the tank."),
        _question("m2.md", "the lid"),
        _question("notes.md", "title"),
    ]
    moved = list(questions_of_parts(questions, MANUALS, STITCHED, PARTS))
    assert [row["query_id"] for row in moved] == ["Fill the tank.", "the lid"]
    for row in moved:
        [span] = row["relevant"]
        text = STITCHED[span["doc_id"]][span["char_start"] : span["char_end"]]
        assert text == row["query_id"]
