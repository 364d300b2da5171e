"""Finds out why the worst answers of an evaluation are bad."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scp_ray.evaluation.relevance import RelevantSpan, covers
from scp_ray.evaluation.runs.record import (
    AskedQuestion,
    Candidate,
    ExplainedQuestion,
    SoughtSpan,
)
from scp_ray.serve.measuring import Measured, found_chunk
from scp_ray.serve.models import AuditModel, QueryRequest, ResultModel
from scp_ray.serve.searcher import LocalSearcher

MOST_EXPLAINED: Final = 10
_DEPTH: Final = 1000
_MOST_SPANS: Final = 3
_GAP_IN_TEXT: Final = " … "


def explain_worst(
    searcher: LocalSearcher, measured: Measured, progress: Callable[[str], None]
) -> tuple[ExplainedQuestion, ...]:
    """Explain the ten questions whose first relevant result comes last.

    Each is asked once more with its audit, and once for the first 1,000 chunks of the ranking, to
    see where its evidence is. Evidence that is not there is looked for in its document alone,
    where the prior may be another one.

    Args:
        searcher: The open index.
        measured: What it gave.
        progress: Told a line.

    Returns:
        Worst first: by reciprocal rank, NDCG@10, then the order of the file; none whose first
        result is relevant.
    """
    ranked = sorted(
        (outcome.values["mrr@10"], outcome.values["ndcg@10"], place)
        for place, outcome in enumerate(measured.ranking.outcomes)
        if outcome.first_relevant_rank != 1
    )
    worst = [measured.asked[place] for _, _, place in ranked[:MOST_EXPLAINED]]
    if worst:
        progress(f"explaining the {len(worst)} worst of {len(measured.asked)} questions")
    remembering = searcher.remembering()
    return tuple(_explain(remembering, asked) for asked in worst)


def _explain(searcher: LocalSearcher, asked: AskedQuestion) -> ExplainedQuestion:
    question: dict[str, object] = {"query": asked.query.query}
    reply = searcher.answer(
        QueryRequest.checked({**question, "top_k": max(1, len(asked.results)), "explain": True})
    )
    ranking = _ranking(searcher, question)
    sought = tuple(
        _sought(searcher, question, span, ranking) for span in asked.query.relevant[:_MOST_SPANS]
    )
    candidates = _candidates(reply.audit) if reply.audit else ()
    first_text = reply.results[0].text if reply.results else ""
    return ExplainedQuestion(asked, candidates, first_text, sought, len(ranking))


def _ranking(
    searcher: LocalSearcher, question: Mapping[str, object], doc_id: str | None = None
) -> list[ResultModel]:
    """Return the ranking before the gap rule, of all documents or of one."""
    only = {} if doc_id is None else {"filter": {"doc_id": doc_id}}
    values = {**question, "top_k": _DEPTH, "min_index_gap": 1, **only}
    return searcher.answer(QueryRequest.checked(values)).results


def _sought(
    searcher: LocalSearcher,
    question: Mapping[str, object],
    span: RelevantSpan,
    ranking: Sequence[ResultModel],
) -> SoughtSpan:
    rank = _rank(span, ranking)
    if rank is not None:
        return SoughtSpan(span, _text(span, ranking), found_chunk(ranking[rank - 1]), rank)
    of_document = _ranking(searcher, question, span.doc_id)
    place = _rank(span, of_document)
    chunk = found_chunk(of_document[place - 1]) if place else None
    return SoughtSpan(span, _text(span, of_document), chunk, None)


def _rank(span: RelevantSpan, ranking: Sequence[ResultModel]) -> int | None:
    ranked = enumerate(ranking, 1)
    return next((rank for rank, one in ranked if covers(found_chunk(one).span, span)), None)


def _text(span: RelevantSpan, results: Sequence[ResultModel]) -> str:
    """Return the span's characters out of the chunks that hold them."""
    parts: list[str] = []
    reached = span.char_start
    near = (one for one in results if one.doc_id == span.doc_id and one.char_end > reached)
    for result in sorted(near, key=lambda one: one.char_start):
        start, end = max(reached, result.char_start), min(span.char_end, result.char_end)
        if end > start:
            parts += [_GAP_IN_TEXT] if start > reached else []
            parts.append(result.text[start - result.char_start : end - result.char_start])
            reached = end
    return "".join([*parts, _GAP_IN_TEXT] if reached < span.char_end else parts)


def _candidates(audit: AuditModel) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            candidate.chunk_index,
            candidate.doc_id,
            candidate.score,
            candidate.semantic_score,
            candidate.lexical_score,
            candidate.position_score,
            decision.kept,
            decision.near,
        )
        for candidate, decision in zip(audit.second_pass, audit.decisions, strict=True)
    )
