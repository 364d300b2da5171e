"""What one system's answers gain over another's."""

from typing import Any

import pytest

from benchmarks.bench_generation import differences


def row(name: str, number: int, score: float, failure: str | None = None) -> dict[str, Any]:
    scores = dict.fromkeys(("token_f1", "rouge_l", "bert_score"), None if failure else score)
    return {"query_id": name, "num_passages": number, "failure": failure, **scores}


def test_questions_are_compared_with_themselves_where_both_were_answered() -> None:
    plain = [row("a", 1, 0.2), row("b", 1, 0.4), row("c", 1, 0.9), row("a", 3, 0.5)]
    other = [row("b", 1, 0.5), row("a", 1, 0.5), row("c", 1, 0.0, "late"), row("a", 3, 0.5)]
    found = differences(plain, other)
    assert list(found) == ["1", "3"]
    assert found["1"]["token_f1"]["mean"] == pytest.approx(0.2)
    assert found["1"]["rouge_l"]["num_better"] == 2
    assert found["3"]["bert_score"]["mean"] == 0
