"""Reading query files."""

import json
from pathlib import Path

import pytest

from scp_ray.errors import QueriesFormatError
from scp_ray.evaluation.queries import Query, check_spans, fingerprint, read_queries
from scp_ray.evaluation.relevance import RelevantSpan

SPAN = {"doc_id": "a.md", "char_start": 0, "char_end": 5}
ROW = {"query_id": "q1", "query": "How?", "relevant": [SPAN]}


def _write(path: Path, *rows: object) -> Path:
    file = path / "queries.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_rows_are_read_in_order(tmp_path: Path) -> None:
    spans = [SPAN, {"doc_id": "b.md", "char_start": 7, "char_end": 8, "note": "ignored"}]
    second = {"query_id": "q0", "query": "Wo ist\u2028das?", "relevant": spans, "kind": "ignored"}
    file = _write(tmp_path, ROW, "", json.dumps(second, ensure_ascii=False), "  ")
    assert read_queries(file) == [
        Query("q1", "How?", (RelevantSpan("a.md", 0, 5),)),
        Query("q0", "Wo ist\u2028das?", (RelevantSpan("a.md", 0, 5), RelevantSpan("b.md", 7, 8))),
    ]


def test_questions_without_marked_evidence_are_read(tmp_path: Path) -> None:
    (query,) = read_queries(_write(tmp_path, {**ROW, "relevant": []}))
    assert query.relevant == ()


def test_a_reference_answer_may_be_there(tmp_path: Path) -> None:
    answers = [" Two hours.\n", "", None]
    rows = [{**ROW, "query_id": f"q{n}", "answer": answer} for n, answer in enumerate(answers)]
    queries = read_queries(_write(tmp_path, *rows, ROW | {"query_id": "last"}))
    assert [query.answer for query in queries] == ["Two hours.", None, None, None]


def test_an_answer_that_is_no_string_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QueriesFormatError, match=r"line 2: row\.answer is not a string: \['x'\]"):
        read_queries(_write(tmp_path, ROW, {**ROW, "query_id": "q2", "answer": ["x"]}))


def test_half_of_a_surrogate_pair_is_refused_in_an_answer(tmp_path: Path) -> None:
    file = _write(tmp_path, {**ROW, "answer": "\ud800 zoom"})
    with pytest.raises(QueriesFormatError, match=r"line 1: row\.answer has half of a surrogate"):
        read_queries(file)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(QueriesFormatError, match="cannot read"):
        read_queries(Path("a\0b"))


def test_windows_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(ROW).encode() + b"\r\n")
    assert read_queries(file)[0].query_id == "q1"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{", "not JSON: "),
        ("[" * 100_000, "not JSON: "),
        ([], "row is not an object"),
        ({"query": "How?", "relevant": []}, r"row\.query_id is missing"),
        ({"query_id": "q2", "relevant": []}, r"row\.query is missing"),
        ({"query_id": "q2", "query": "How?"}, r"row\.relevant is missing"),
        ({**ROW, "query_id": 7}, r"row\.query_id is not a string: 7"),
        ({**ROW, "query_id": " "}, r"row\.query_id is empty"),
        ({**ROW, "query_id": "q2", "query": None}, r"row\.query is not a string: None"),
        ({**ROW, "query_id": "q2", "query": ""}, r"row\.query is empty"),
        ({**ROW, "relevant": SPAN}, r"row\.relevant is not a list"),
        ({**ROW, "relevant": [SPAN, "a.md"]}, r"relevant\[1\] is not an object"),
        ({**ROW, "relevant": [{**SPAN, "doc_id": 1}]}, r"relevant\[0\]\.doc_id is not a string"),
        ({**ROW, "relevant": [{"doc_id": "a"}]}, r"relevant\[0\]\.char_start is missing"),
        ({**ROW, "relevant": [{**SPAN, "char_end": "5"}]}, r"char_end is not a whole number: '5'"),
        ({**ROW, "relevant": [{**SPAN, "char_end": 5.0}]}, r"char_end is not a whole number: 5\.0"),
        ({**ROW, "relevant": [{**SPAN, "char_end": True}]}, "char_end is not a whole number: True"),
        ({**ROW, "relevant": [{**SPAN, "char_start": -1}]}, r"char_start is negative \(-1\)"),
        ({**ROW, "relevant": [{**SPAN, "char_end": 0}]}, r"\(0\) is not after char_start \(0\)"),
        ({**ROW, "relevant": [{**SPAN, "char_start": 9}]}, r"\(5\) is not after char_start \(9\)"),
        (ROW, "query_id 'q1' was used before"),
    ],
)
def test_bad_rows_are_named_by_line_and_reason(tmp_path: Path, row: object, reason: str) -> None:
    file = _write(tmp_path, ROW, "", row)
    with pytest.raises(QueriesFormatError, match=rf"queries\.jsonl, line 3: .*{reason}"):
        read_queries(file)


@pytest.mark.parametrize("rows", [[], [""], ["", "  \n"]])
def test_files_without_a_row_are_refused(tmp_path: Path, rows: list[str]) -> None:
    with pytest.raises(QueriesFormatError, match=r"queries\.jsonl: no query in this file"):
        read_queries(_write(tmp_path, *rows))


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(QueriesFormatError, match=r"cannot read .*absent: No such file"):
        read_queries(tmp_path / "absent")
    with pytest.raises(QueriesFormatError, match="cannot read .*: Is a directory"):
        read_queries(tmp_path)
    (tmp_path / "latin").write_bytes(json.dumps(ROW).encode() + b"\xe9")
    with pytest.raises(QueriesFormatError, match="latin: not UTF-8 at byte"):
        read_queries(tmp_path / "latin")


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([], "'q2' has no relevant span to score by"),
        (
            [SPAN, {**SPAN, "doc_id": "b.md"}],
            r"relevant\[1\]: doc_id 'b\.md' is not in s3://bucket/index",
        ),
        (
            [{**SPAN, "char_end": 21}],
            r"relevant\[0\]: the span 0-21 is outside the text of 'a\.md', which has 20 characters",
        ),
    ],
)
def test_evidence_that_the_index_does_not_have_is_refused_by_line(
    tmp_path: Path, spans: list[object], reason: str
) -> None:
    whole = {**ROW, "relevant": [{**SPAN, "char_end": 20}]}
    queries = read_queries(_write(tmp_path, whole, {**ROW, "query_id": "q2", "relevant": spans}))
    check_spans(queries[:1], {"a.md": 20}, "s3://bucket/index")
    with pytest.raises(QueriesFormatError, match=rf"queries\.jsonl, line 2: {reason}"):
        check_spans(queries, {"a.md": 20}, "s3://bucket/index")


def test_fingerprint_is_of_questions_and_evidence_alone(tmp_path: Path) -> None:
    plain = fingerprint(read_queries(_write(tmp_path, ROW)))
    assert plain == fingerprint(read_queries(_write(tmp_path, "", {"kind": "x", **ROW})))
    others = [
        [{**ROW, "query": "Why?"}],
        [{**ROW, "query_id": "q2"}],
        [{**ROW, "relevant": [{**SPAN, "char_end": 6}]}],
        [ROW, {**ROW, "query_id": "q2"}],
        [{**ROW, "query_id": "q2"}, ROW],
    ]
    found = {fingerprint(read_queries(_write(tmp_path, *rows))) for rows in others}
    assert len(found | {plain}) == len(others) + 1
