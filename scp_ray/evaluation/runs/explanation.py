"""Shows the worst answers: what was asked, where the answer was, and what came before it."""

from collections.abc import Iterable
from typing import Final

from scp_ray.evaluation.pages.content import Cells, Section, Table
from scp_ray.evaluation.runs.record import (
    Candidate,
    EvaluationRun,
    ExplainedQuestion,
    FoundChunk,
    SoughtSpan,
)

_MOST_CANDIDATES: Final = 15
_MOST_CHARACTERS: Final = 400
_COLUMNS: Final = ("", "score", "meaning", "words", "position", "chunk", "verdict")


def explained_sections(run: EvaluationRun) -> Iterable[Section]:
    """Return a section that says what follows, and a folded one for each question."""
    if not run.explained:
        note = "The first result of every question is relevant."
        yield Section("Worst questions", (note,))
        return
    note = (
        "Those whose first relevant result comes last. Each opens on what was asked, where its "
        "evidence is and how that scored, and the chunks that were ranked before: score = (1 - l) "
        "meaning + l words + w position."
    )
    yield Section("Worst questions", (note,))
    ranks = {one.query_id: one.first_relevant_rank for one in run.ranking.outcomes}
    for explained in run.explained:
        yield _section(explained, ranks[explained.asked.query.query_id])


def _section(explained: ExplainedQuestion, first_rank: int | None) -> Section:
    asked = explained.asked
    found = f"first relevant result at {first_rank}" if first_rank else "no relevant result in ten"
    notes = [f"Question: {asked.query.query}", _prior(explained)]
    notes += [_evidence(sought, explained.num_looked_at) for sought in explained.sought]
    num_left_out = len(asked.query.relevant) - len(explained.sought)
    if num_left_out:
        notes.append(f"Spans of evidence that are not shown: {num_left_out}.")
    if asked.results:
        notes.append(f"First result: {_where(asked.results[0])}: {_quoted(explained.first_text)}")
    rows: list[Cells] = [
        (f"evidence {place}", *_terms(sought.chunk), _where(sought.chunk), _rank(sought, explained))
        for place, sought in enumerate(explained.sought, 1)
        if sought.chunk is not None
    ]
    shown = explained.candidates[:_MOST_CANDIDATES]
    rows += [
        (str(rank), *_terms(candidate), _where(candidate), _verdict(candidate))
        for rank, candidate in enumerate(shown, 1)
    ]
    left_out = len(explained.candidates) - len(shown)
    table = Table(_COLUMNS, tuple(rows), left_out, frozenset({5, 6}))
    return Section(f"{asked.query.query_id}: {found}", tuple(notes), None, table, is_folded=True)


def _prior(explained: ExplainedQuestion) -> str:
    asked = explained.asked
    words = f"Words had the weight {asked.lexical_weight:.3f}."
    if asked.prior_position is None or asked.prior_concentration is None:
        return f"{words} There was no prior for all shards."
    applied = "applied" if asked.is_prior_applied else "not applied"
    return (
        f"{words} The prior was at {asked.prior_position:.3f} with concentration "
        f"{asked.prior_concentration:.3f}, {applied}."
    )


def _evidence(sought: SoughtSpan, num_looked_at: int) -> str:
    span = sought.span
    place = f"Evidence: {span.doc_id}, characters {span.char_start} to {span.char_end}"
    if sought.chunk is None:
        return f"{place}. No chunk of the first {num_looked_at} covers it."
    alone = "" if sought.rank else ", scored among the chunks of this document alone"
    return f"{place}{alone}: {_quoted(sought.text)}"


def _quoted(text: str) -> str:
    flat = " ".join(text.split())
    return f"“{flat if len(flat) <= _MOST_CHARACTERS else flat[: _MOST_CHARACTERS - 1] + '…'}”"


def _terms(scored: FoundChunk | Candidate) -> Cells:
    return (
        f"{scored.score:.4f}",
        f"{scored.semantic_score:.4f}",
        f"{scored.lexical_score:.4f}",
        f"{scored.position_score:+.3f}",
    )


def _where(scored: FoundChunk | Candidate) -> str:
    return f"{scored.doc_id}, chunk {scored.chunk_index}"


def _rank(sought: SoughtSpan, explained: ExplainedQuestion) -> str:
    if sought.rank is None:
        return f"ranked after the first {explained.num_looked_at}"
    return f"ranked {sought.rank} before the gap rule"


def _verdict(candidate: Candidate) -> str:
    return "kept" if candidate.is_kept else f"too near to chunk {candidate.near}"
