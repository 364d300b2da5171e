"""Builds the reply of a query from what the passes came to; shared by HTTP and command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scp_ray.records import ChunkKey, PositionPrior, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.question import Question
from scp_ray.serve.models import (
    AuditModel,
    CandidateModel,
    ContextModel,
    CoverageModel,
    DecisionModel,
    DegradedModel,
    LexicalModel,
    PriorModel,
    QueryReply,
    ResultModel,
)
from scp_ray.storage.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Findings:
    """What both passes found, before texts are fetched.

    Attributes:
        question: Its words, for the reply.
        params: How it was answered.
        first_pass: Hits that formed the prior, in rank order.
        prior: The prior that all shards shared; None with ``prior_scope: shard``.
        prior_applied: Whether position counted in the second pass of any shard.
        selection: Kept and dropped candidates of the second pass.
        shards_ok: Shards that answered both passes.
        context: The assembled context, if it was asked for.
        rerank_scores: Scores of the cross-encoder by chunk; empty without a rerank.
        degraded: Groups that did not, and what of the question could not be used.
        timings_ms: Milliseconds of each step.
    """

    question: Question
    params: QueryParams
    first_pass: list[ScoredChunk]
    prior: PositionPrior | None
    prior_applied: bool
    selection: Selection
    shards_ok: frozenset[int]
    context: ContextModel | None = None
    rerank_scores: Mapping[ChunkKey, float] = field(default_factory=dict)
    degraded: list[DegradedModel] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)


def build_reply(
    manifest: Manifest,
    findings: Findings,
    results: Mapping[ChunkKey, ResultModel],
    *,
    explain: bool,
) -> QueryReply:
    """Return the reply; ``results`` has the text and all else of every kept chunk."""
    prior, scores = findings.prior, findings.rerank_scores
    covered = [shard for shard in manifest.shards if shard.shard_id in findings.shards_ok]
    return QueryReply(
        generation=manifest.generation,
        results=[
            results[hit.key].model_copy(update={"rerank_score": scores[hit.key]})
            if hit.key in scores
            else results[hit.key]
            for hit in findings.selection.kept
            if hit.key in results
        ],
        context=findings.context,
        prior=PriorModel(
            position=prior.position if prior else None,
            concentration=prior.concentration if prior else None,
            applied=findings.prior_applied,
        ),
        lexical=_lexical(findings),
        coverage=CoverageModel(
            shards_ok=len(covered),
            shards_total=len(manifest.shards),
            documents=sum(shard.num_documents for shard in covered),
        ),
        degraded=findings.degraded,
        exhausted=findings.selection.exhausted,
        timings_ms={name: round(value, 3) for name, value in findings.timings_ms.items()},
        audit=_audit(findings) if explain else None,
    )


def _lexical(findings: Findings) -> LexicalModel:
    words = findings.question.words
    return LexicalModel(
        applied=findings.question.lexical_weight(findings.params) > 0.0,
        known_terms=len(words.idf) if words else 0,
        unknown_terms=words.num_unknown if words else 0,
    )


def _audit(findings: Findings) -> AuditModel:
    decisions = findings.selection.decisions
    return AuditModel(
        first_pass=_candidates(findings.first_pass, {}),
        second_pass=_candidates(
            [decision.candidate for decision in decisions], findings.rerank_scores
        ),
        decisions=[
            DecisionModel(
                doc_id=decision.candidate.key.doc_id,
                chunk_index=decision.candidate.key.chunk_index,
                kept=decision.kept,
                reason=decision.reason,
                near=decision.near,
            )
            for decision in decisions
        ],
    )


def _candidates(
    chunks: Sequence[ScoredChunk], rerank_scores: Mapping[ChunkKey, float]
) -> list[CandidateModel]:
    return [
        CandidateModel(
            doc_id=chunk.key.doc_id,
            chunk_index=chunk.key.chunk_index,
            position=chunk.position,
            score=chunk.score,
            semantic_score=chunk.semantic_score,
            lexical_score=chunk.lexical_score,
            position_score=chunk.position_score,
            rerank_score=rerank_scores.get(chunk.key),
        )
        for chunk in chunks
    ]
