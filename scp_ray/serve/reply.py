"""Builds the reply of a query from what the passes came to; shared by HTTP and command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scp_ray.records import ChunkKey, PriorScope, ScoredChunk
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.rerank import RerankedChunk
from scp_ray.retrieval.two_pass import QueryOutcome
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
from scp_ray.serve.query_plan import QueryPlan
from scp_ray.storage.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Findings:
    """What a query came to.

    Attributes:
        plan: How it was answered.
        question: Its words, for the reply.
        outcome: Both passes and the selection, after the rerank if there was one.
        reranked: What the cross-encoder read; empty without a rerank.
        context: The assembled context, if it was asked for.
        shards_ok: Shards that answered both passes.
        degraded: What did not contribute in full, with the reason.
        timings_ms: Milliseconds of each step.
    """

    plan: QueryPlan
    question: Question
    outcome: QueryOutcome
    reranked: Sequence[RerankedChunk]
    context: ContextModel | None
    shards_ok: frozenset[int]
    degraded: list[DegradedModel]
    timings_ms: dict[str, float]

    @property
    def rerank_scores(self) -> dict[ChunkKey, float]:
        """Score of the cross-encoder by chunk."""
        return {hit.chunk.key: hit.rerank_score for hit in self.reranked}


def build_reply(
    manifest: Manifest,
    findings: Findings,
    results: Mapping[ChunkKey, ResultModel],
    *,
    explain: bool,
) -> QueryReply:
    """Return the reply; ``results`` has the text and all else of every kept chunk."""
    outcome, scores = findings.outcome, findings.rerank_scores
    covered = [shard for shard in manifest.shards if shard.shard_id in findings.shards_ok]
    return QueryReply(
        generation=manifest.generation,
        results=[
            results[hit.key].model_copy(update={"rerank_score": scores[hit.key]})
            if hit.key in scores
            else results[hit.key]
            for hit in outcome.selection.kept
            if hit.key in results
        ],
        context=findings.context,
        prior=_prior(findings),
        lexical=_lexical(findings),
        coverage=CoverageModel(
            shards_ok=len(covered),
            shards_total=len(manifest.shards),
            documents=sum(shard.num_documents for shard in covered),
        ),
        degraded=findings.degraded,
        exhausted=outcome.selection.exhausted,
        timings_ms={name: round(value, 3) for name, value in findings.timings_ms.items()},
        audit=_audit(findings) if explain else None,
    )


def _prior(findings: Findings) -> PriorModel:
    """Return the prior that all shards shared; with ``prior_scope: shard`` there is none."""
    is_shared = findings.plan.params.prior_scope is PriorScope.GLOBAL
    prior = findings.outcome.prior if is_shared else None
    return PriorModel(
        position=prior.position if prior else None,
        concentration=prior.concentration if prior else None,
        applied=findings.outcome.prior_applied,
    )


def _lexical(findings: Findings) -> LexicalModel:
    words = findings.question.words
    return LexicalModel(
        weight=findings.question.lexical_weight(findings.plan.params),
        known_terms=len(words.idf) if words else 0,
        unknown_terms=words.num_unknown if words else 0,
    )


def _audit(findings: Findings) -> AuditModel:
    decisions = findings.outcome.selection.decisions
    return AuditModel(
        first_pass=_candidates(findings.outcome.first_pass, {}),
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
