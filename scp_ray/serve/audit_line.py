"""A line of the retrieval audit log: its columns, and what of an answer becomes one."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from scp_ray.records import Decision, ScoredChunk
from scp_ray.serve.access_log import utc
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.reply import Findings

_FLOAT, _INT, _TEXT, _FLAG = pa.float64(), pa.int64(), pa.string(), pa.bool_()
_PARAMS: list[tuple[str, pa.DataType]] = [
    ("top_k", _INT),
    ("min_index_gap", _INT),
    ("position_weight", _FLOAT),
    ("lexical_weight", _FLOAT),
    ("first_pass_candidates", _INT),
    ("prior_temperature", _FLOAT),
    ("prior_gate", _FLOAT),
    ("prior_scope", _TEXT),
    ("exact", _FLAG),
]
_PRIOR: list[tuple[str, pa.DataType]] = [
    ("position", _FLOAT),
    ("concentration", _FLOAT),
    ("applied", _FLAG),
]
_RESULT: list[tuple[str, pa.DataType]] = [
    ("doc_id", _TEXT),
    ("chunk_index", _INT),
    ("shard_id", _INT),
    ("position", _FLOAT),
    ("score", _FLOAT),
    ("semantic_score", _FLOAT),
    ("lexical_score", _FLOAT),
    ("position_score", _FLOAT),
    ("rerank_score", _FLOAT),
]
_DECISION: list[tuple[str, pa.DataType]] = [
    ("doc_id", _TEXT),
    ("chunk_index", _INT),
    ("score", _FLOAT),
    ("reason", _TEXT),
    ("near", _INT),
]
_DEGRADED: list[tuple[str, pa.DataType]] = [("group", _TEXT), ("reason", _TEXT)]
_TIMING: list[tuple[str, pa.DataType]] = [("step", _TEXT), ("ms", _FLOAT)]
_LINE: list[tuple[str, pa.DataType]] = [
    ("time", pa.timestamp("ms", "UTC")),
    ("generation", _INT),
    ("query_sha256", _TEXT),
    ("query", _TEXT),
    ("filter", _TEXT),
    ("params", pa.struct(_PARAMS)),
    ("prior", pa.struct(_PRIOR)),
    ("results", pa.list_(pa.struct(_RESULT))),
    ("decisions", pa.list_(pa.struct(_DECISION))),
    ("exhausted", _FLAG),
    ("shards_ok", pa.list_(_INT)),
    ("degraded", pa.list_(pa.struct(_DEGRADED))),
    ("timings_ms", pa.list_(pa.struct(_TIMING))),
]
AUDIT_SCHEMA = pa.schema(_LINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """A question that was answered.

    Attributes:
        seconds: When, on the Unix clock.
        request: The question.
        generation: Of the index that answered.
        findings: What it came to.
    """

    seconds: float
    request: QueryRequest
    generation: int
    findings: Findings


def line_of(answer: Answer, *, with_text: bool) -> dict[str, Any]:
    """Return the line of an answer, of the columns of ``AUDIT_SCHEMA``.

    A filter may have values of any type, so it is a string of JSON: columns have one.
    """
    request, findings = answer.request, answer.findings
    outcome, scores = findings.outcome, findings.rerank_scores
    prior, params = outcome.prior, findings.plan.params
    return {
        "time": utc(answer.seconds),
        "generation": answer.generation,
        "query_sha256": query_sha256(request),
        "query": request.query if with_text else None,
        "filter": None if request.filter is None else json.dumps(request.filter, sort_keys=True),
        "params": {name: getattr(params, name) for name, _ in _PARAMS},
        "prior": {
            "position": prior.position if prior else None,
            "concentration": prior.concentration if prior else None,
            "applied": outcome.prior_applied,
        },
        "results": [_scored(hit, scores.get(hit.key)) for hit in outcome.selection.kept],
        "decisions": [_decided(decision) for decision in outcome.selection.decisions],
        "exhausted": outcome.selection.exhausted,
        "shards_ok": sorted(findings.shards_ok),
        "degraded": [{"group": one.group, "reason": one.reason} for one in findings.degraded],
        "timings_ms": [
            {"step": step, "ms": round(value, 3)} for step, value in findings.timings_ms.items()
        ],
    }


def query_sha256(request: QueryRequest) -> str:
    """Return the SHA-256 of a question: of its text as UTF-8, or of its vector as float32."""
    if request.query is not None:
        return hashlib.sha256(request.query.encode()).hexdigest()
    return hashlib.sha256(np.asarray(request.embedding, dtype="<f4").tobytes()).hexdigest()


def _scored(hit: ScoredChunk, rerank_score: float | None) -> dict[str, Any]:
    return {
        "doc_id": hit.key.doc_id,
        "chunk_index": hit.key.chunk_index,
        "shard_id": hit.shard_id,
        "position": hit.position,
        "score": hit.score,
        "semantic_score": hit.semantic_score,
        "lexical_score": hit.lexical_score,
        "position_score": hit.position_score,
        "rerank_score": rerank_score,
    }


def _decided(decision: Decision) -> dict[str, Any]:
    return {
        "doc_id": decision.candidate.key.doc_id,
        "chunk_index": decision.candidate.key.chunk_index,
        "score": decision.candidate.score,
        "reason": str(decision.reason),
        "near": decision.near,
    }
