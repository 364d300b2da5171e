"""How one request is to be answered: what it asks for, else what the settings say."""

from dataclasses import dataclass, replace

from scp_ray.config import Settings
from scp_ray.records import ContextRule, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.rerank import ranked_for_selection
from scp_ray.sections import SearchMode
from scp_ray.serve.models import QueryRequest
from scp_ray.storage.manifest import Manifest


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Everything that is decided before the first pass.

    Attributes:
        params: What the shards need.
        max_context_tokens: Budget of the assembled context; 0 = none.
        context_rule: What it is made of.
        context_candidates: Most chunks that it is tried with.
        rerank_candidates: Chunks of the ranking that the cross-encoder reads; 0 = no rerank, as
            for a question that is a vector.
    """

    params: QueryParams
    max_context_tokens: int
    context_rule: ContextRule
    context_candidates: int
    rerank_candidates: int

    def context_chunks(self, selection: Selection) -> list[ScoredChunk]:
        """Return the chunks that the context is assembled from, in rank order."""
        if self.max_context_tokens == 0:
            return []
        is_gap = self.context_rule is ContextRule.GAP
        chunks = selection.kept if is_gap else selection.ranking
        return list(chunks[: self.context_candidates])


def plan_query(request: QueryRequest, manifest: Manifest, settings: Settings) -> QueryPlan:
    """Resolve a request against the settings.

    ``index.search: exact`` holds when the index or this process has it.

    Raises:
        ConfigError: If a value is out of range.
    """
    context = settings.with_values(
        "context", max_tokens=request.max_context_tokens, rule=request.context_rule
    ).context
    asked = request.overrides
    if asked["exact"] is None and manifest.settings["index"]["search"] == SearchMode.EXACT:
        asked["exact"] = True
    merges = context.max_tokens > 0 and context.rule is ContextRule.MERGE
    reranks = settings.rerank.model is not None and request.query is not None
    rerank_candidates = settings.rerank.candidates if reranks else 0
    params = settings.query_params(**asked)
    num_ranked = max(
        context.candidates if merges else 0,
        rerank_candidates,
        ranked_for_selection(params) if reranks else 0,
    )
    return QueryPlan(
        replace(params, num_ranked=num_ranked),
        context.max_tokens,
        context.rule,
        context.candidates,
        rerank_candidates,
    )
