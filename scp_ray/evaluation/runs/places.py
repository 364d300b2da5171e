"""Where in each document evidence lies, and where results lie."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from scp_ray.evaluation.pages.content import HeatStrips, Section
from scp_ray.evaluation.runs.record import EvaluationRun
from scp_ray.evaluation.stretches import Place

NUM_PLACES: Final = 50
_MOST_DOCUMENTS: Final = 30
_NOTE: Final = (
    "From the beginning of each document on the left to its end on the right: how many questions "
    "have evidence there, and how many got a result from there."
)


def places_section(run: EvaluationRun) -> Section:
    """Return the strips of the documents with most evidence, in the order of their names.

    Each document is cut into fifty places of equal length. A question counts where its evidence
    lies, and where its results lie, once a place.
    """
    evidence = _by_document((one.query.relevant for one in run.asked), run)
    results = _by_document(([found.span for found in one.results] for one in run.asked), run)
    documents = sorted(evidence, key=lambda doc_id: (-sum(evidence[doc_id]), doc_id))
    shown = sorted(documents[:_MOST_DOCUMENTS])
    nothing = (0,) * NUM_PLACES
    notes = [_NOTE]
    if len(documents) > len(shown):
        notes.append(
            f"The {len(shown)} documents with most evidence of {len(documents)} that have some."
        )
    strips = HeatStrips(
        "Evidence and results by place",
        ("questions with evidence there", "questions with a result from there"),
        tuple((name, (evidence[name], results.get(name, nothing))) for name in shown),
    )
    return Section("Where evidence and results lie", tuple(notes), strips)


def _by_document(
    places: Iterable[Iterable[Place]], run: EvaluationRun
) -> dict[str, tuple[int, ...]]:
    counts: dict[str, Counter[int]] = {}
    for of_one_question in places:
        touched = {
            (place.doc_id, bin_)
            for place in of_one_question
            for bin_ in _bins(place, run.num_characters[place.doc_id])
        }
        for doc_id, bin_ in touched:
            counts.setdefault(doc_id, Counter())[bin_] += 1
    return {
        doc_id: tuple(count[bin_] for bin_ in range(NUM_PLACES)) for doc_id, count in counts.items()
    }


def _bins(place: Place, length: int) -> range:
    first = place.char_start * NUM_PLACES // length
    return range(first, (place.char_end - 1) * NUM_PLACES // length + 1)
