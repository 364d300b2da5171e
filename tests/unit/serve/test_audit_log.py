"""The audit log: its lines, its files, and what it does when it cannot write."""

import hashlib
import json
import logging
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.json
import pytest

from scp_ray.errors import ConfigError
from scp_ray.records import (
    ChunkKey,
    ContextRule,
    Decision,
    DecisionReason,
    PositionPrior,
    QueryParams,
    ScoredChunk,
    Selection,
)
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.rerank import RerankedChunk
from scp_ray.retrieval.two_pass import QueryOutcome
from scp_ray.serve import audit_log as module
from scp_ray.serve.audit_line import AUDIT_SCHEMA
from scp_ray.serve.audit_log import AuditLog
from scp_ray.serve.metrics import NoMetrics
from scp_ray.serve.models import DegradedModel, QueryRequest
from scp_ray.serve.query_plan import QueryPlan
from scp_ray.serve.reply import Findings

TEXT = "Wie öffne ich das Ventil?\nJetzt."
PARAMS = QueryParams(5, 2, 0.02, 0.5, 20, 0.05, 0.2)


def _hit(chunk_index: int, score: float) -> ScoredChunk:
    return ScoredChunk(ChunkKey("manual.md", chunk_index), 0.25, score, 0.5, 0.125, 0.75, 9, 2)


def _findings(*, with_prior: bool = True, is_reranked: bool = True) -> Findings:
    best, near = _hit(7, 0.9), _hit(8, 0.8)
    decisions = (
        Decision(best, DecisionReason.KEPT),
        Decision(near, DecisionReason.TOO_NEAR, near=7),
    )
    prior = PositionPrior(0.4, 0.6) if with_prior else None
    return Findings(
        plan=QueryPlan(PARAMS, 0, ContextRule.MERGE, 20, 0),
        question=Question(np.ones(3, dtype=np.float32)),
        outcome=QueryOutcome([best], prior, with_prior, Selection(decisions, exhausted=False)),
        reranked=[RerankedChunk(best, 3.5)] if is_reranked else [],
        context=None,
        shards_ok=frozenset({2, 0}),
        degraded=[DegradedModel(group="group-1", reason="deadline passed")],
        timings_ms={"encode": 1.23456, "search": 7.0},
    )


def _lines(folder: Path) -> list[dict[str, Any]]:
    texts = [path.read_bytes() for path in sorted(folder.iterdir())]
    assert all(text.endswith(b"\n") for text in texts)
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_line_holds_what_the_answer_was_made_of(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path), with_text=True)
    request = QueryRequest(query=TEXT, filter={"year": {"gte": 2020}}, top_k=5)
    log.record(request, 12, _findings())
    log.close()
    (line,) = _lines(tmp_path)
    assert line.pop("time").endswith("Z")
    result = {"doc_id": "manual.md", "chunk_index": 7, "shard_id": 2, "position": 0.25}
    result |= {"score": 0.9, "semantic_score": 0.5, "lexical_score": 0.125, "position_score": 0.75}
    assert line == {
        "generation": 12,
        "query_sha256": hashlib.sha256(TEXT.encode()).hexdigest(),
        "query": TEXT,
        "filter": '{"year": {"gte": 2020}}',
        "params": {
            "top_k": 5,
            "min_index_gap": 2,
            "position_weight": 0.02,
            "lexical_weight": 0.5,
            "first_pass_candidates": 20,
            "prior_temperature": 0.05,
            "prior_gate": 0.2,
            "prior_scope": "global",
            "exact": False,
        },
        "prior": {"position": 0.4, "concentration": 0.6, "applied": True},
        "results": [result | {"rerank_score": 3.5}],
        "decisions": [
            {
                "doc_id": "manual.md",
                "chunk_index": 7,
                "score": 0.9,
                "reason": "kept",
                "near": None,
            },
            {
                "doc_id": "manual.md",
                "chunk_index": 8,
                "score": 0.8,
                "reason": "too_near",
                "near": 7,
            },
        ],
        "exhausted": False,
        "shards_ok": [0, 2],
        "degraded": [{"group": "group-1", "reason": "deadline passed"}],
        "timings_ms": [{"step": "encode", "ms": 1.235}, {"step": "search", "ms": 7.0}],
    }


def test_without_text_no_word_of_the_question_is_there(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path), with_text=False)
    log.record(QueryRequest(query=TEXT), 12, _findings())
    log.record(QueryRequest(embedding=[0.5, -1.0]), 12, _findings())
    log.close()
    text, vector = _lines(tmp_path)
    assert text["query"] is None
    assert text["query_sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()
    assert "Ventil" not in "".join(path.read_text() for path in tmp_path.iterdir())
    expected = hashlib.sha256(struct.pack("<2f", 0.5, -1.0)).hexdigest()
    assert vector["query_sha256"] == expected


def test_files_read_back_as_one_table(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path), with_text=True)
    filters = [None, {"doc_id": "a"}, {"year": 2020}, {"cnm.nouns": {"in": ["x"]}}]
    for number, row_filter in enumerate(filters):
        findings = _findings(with_prior=number % 2 == 0, is_reranked=number < 2)
        findings.degraded.append(DegradedModel(group="context", reason="of no \u2028 words"))
        log.record(QueryRequest(query=TEXT, filter=row_filter), number, findings)
    log.record(QueryRequest(embedding=[1.0]), 4, _findings())
    log.close()
    (path,) = tmp_path.iterdir()
    options = pyarrow.json.ParseOptions(
        explicit_schema=AUDIT_SCHEMA, unexpected_field_behavior="error"
    )
    table = pyarrow.json.read_json(path, parse_options=options)
    assert table.schema == AUDIT_SCHEMA
    rows = table.to_pylist()
    assert [row["generation"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["prior"]["position"] for row in rows] == [0.4, None, 0.4, None, 0.4]
    assert [row["results"][0]["rerank_score"] for row in rows] == [3.5, 3.5, None, None, 3.5]
    assert [row["decisions"][1]["near"] for row in rows] == [7] * 5
    assert rows[3]["filter"] == '{"cnm.nouns": {"in": ["x"]}}'
    assert all(abs(row["time"].timestamp() - time.time()) < 60.0 for row in rows)


def test_processes_and_hours_have_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 3599.0, 3600.0, 7300.0])
    monkeypatch.setattr(module.time, "time", lambda: next(clock))
    logs = [AuditLog(str(tmp_path), with_text=False) for _ in range(2)]
    for generation in range(4):
        logs[generation % 2].record(QueryRequest(query="x"), generation, _findings())
    for log in logs:
        log.close()
    generations = {
        path.name.split("-")[1] + path.name[-12:]: [
            json.loads(line)["generation"] for line in path.read_text().splitlines()
        ]
        for path in tmp_path.iterdir()
    }
    assert sorted(generations.values()) == [[0], [1], [2], [3]]
    assert sorted(name[:12] for name in generations) == [
        "19700101T00Z",
        "19700101T00Z",
        "19700101T01Z",
        "19700101T02Z",
    ]


def test_line_is_there_within_a_second(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path), with_text=False)
    log.record(QueryRequest(query="x"), 1, _findings())
    waited = threading.Event()
    for _ in range(100):
        if any(path.stat().st_size for path in tmp_path.iterdir()):
            break
        waited.wait(0.01)
    assert [line["generation"] for line in _lines(tmp_path)] == [1]
    log.close()


class Lost(NoMetrics):
    """Counts what is lost."""

    num_lost = 0

    def audit_lost(self, count: int) -> None:
        self.num_lost += count


@pytest.fixture
def stuck_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make every write wait until the returned function is called."""
    freed = threading.Event()
    write = module.os.write

    def wait_and_write(file: int, data: bytes) -> int:
        assert freed.wait(30)
        return int(write(file, data))

    monkeypatch.setattr(module.os, "write", wait_and_write)
    return freed.set


def test_full_queue_loses_answers_and_counts_them(
    tmp_path: Path, stuck_disk: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Lost()
    log = AuditLog(str(tmp_path), with_text=False, metrics=metrics)
    findings, request = _findings(), QueryRequest(query="x")
    for _ in range(3000):
        log.record(request, 1, findings)
    stuck_disk()
    log.close()
    num_written = len(_lines(tmp_path))
    assert 0 < num_written < 3000
    assert log.num_lost == metrics.num_lost == 3000 - num_written
    told = [record.getMessage() for record in caplog.records]
    assert sum(int(line.split()[0]) for line in told) == log.num_lost
    assert len(told) == 2  # at once, and at the end of the minute or of the log
    assert all(record.levelno == logging.ERROR for record in caplog.records)


def test_answer_that_json_cannot_hold_costs_only_itself(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path), with_text=False)
    broken = _findings()
    broken.timings_ms["encode"] = float("nan")
    for generation, findings in enumerate([_findings(), broken, _findings()]):
        log.record(QueryRequest(query="x"), generation, findings)
    log.close()
    assert [line["generation"] for line in _lines(tmp_path)] == [0, 2]
    assert log.num_lost == 1


def test_closed_log_takes_no_more_and_says_so(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path), with_text=False)
    log.record(QueryRequest(query="x"), 1, _findings())
    log.close()
    log.record(QueryRequest(query="x"), 2, _findings())
    log.close()
    assert [line["generation"] for line in _lines(tmp_path)] == [1]
    assert log.num_lost == 1


def test_folder_is_made_and_one_that_cannot_be_is_refused(tmp_path: Path) -> None:
    AuditLog(str(tmp_path / "a" / "b"), with_text=False).close()
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"serve\.audit_log: cannot write to .*file"):
        AuditLog(str(tmp_path / "file"), with_text=False)
