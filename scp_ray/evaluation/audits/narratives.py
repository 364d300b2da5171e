"""Whether the flags that reviewers ticked agree with what they wrote."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from scp_ray.evaluation.audits.agreement import cohen_kappa
from scp_ray.evaluation.audits.reviews import Review
from scp_ray.records import Stemmer
from scp_ray.retrieval.terms import terms_of

DETAIL_WORDS: Final = 5
"""A narrative of at least so many words tells a detail; our choice."""

_FUNCTION_WORDS: Final = frozenset("a an and are as at be by for in is it of on or the to".split())


@dataclass(frozen=True, slots=True)
class FlagsAndDetail:
    """Labelled reviews by whether they have a flag and whether their narrative tells a detail."""

    both: int
    only_flags: int
    only_detail: int
    neither: int


@dataclass(frozen=True, slots=True)
class FlagInNarratives:
    """One flag against the narratives.

    A narrative names a flag when it has every word of the flag's name but for words like ``of``
    and ``the``, in any order, plurals being equal. That is a rule of words: what it finds are
    reviews to look at.

    Attributes:
        flag: Its name.
        named: Reviews that have the flag and name it.
        silent: Reviews that have the flag, with a narrative that does not name it.
        without_narrative: Reviews that have the flag and no narrative.
        only_named: Reviews that name it and do not have it.
        kappa: Cohen's kappa between having and naming, over all labelled reviews with a narrative;
            None where there is none.
        median_words: Of the narratives of reviews that have the flag.
    """

    flag: str
    named: int
    silent: int
    without_narrative: int
    only_named: int
    kappa: float | None
    median_words: float


@dataclass(frozen=True, slots=True)
class Lead:
    """A review whose narrative names a flag that it does not have."""

    review_id: str
    flag: str
    narrative: str


def num_words(narrative: str) -> int:
    """Count what white space separates."""
    return len(narrative.split())


def has_detail(review: Review) -> bool:
    """Whether the narrative has at least ``DETAIL_WORDS`` words."""
    return num_words(review.narrative) >= DETAIL_WORDS


def flags_and_detail(labelled: Sequence[Review]) -> FlagsAndDetail:
    """Count labelled reviews by flags and detail."""
    pairs = [(bool(review.flags), has_detail(review)) for review in labelled]
    return FlagsAndDetail(
        pairs.count((True, True)),
        pairs.count((True, False)),
        pairs.count((False, True)),
        pairs.count((False, False)),
    )


def flags_in_narratives(labelled: Sequence[Review]) -> list[FlagInNarratives]:
    """Compare every flag with the narratives, in the order of the names."""
    terms = [set(terms_of(review.narrative, Stemmer.LIGHT)) for review in labelled]
    return [_compared(flag, labelled, terms) for flag in _flags(labelled)]


def leads(labelled: Iterable[Review]) -> list[Lead]:
    """Return the reviews that name a flag which they do not have, by id and flag."""
    ordered = sorted(labelled, key=lambda review: review.review_id)
    words = {flag: _words_of_flag(flag) for flag in _flags(ordered)}
    terms = [set(terms_of(review.narrative, Stemmer.LIGHT)) for review in ordered]
    return [
        Lead(review.review_id, flag, review.narrative)
        for review, mine in zip(ordered, terms, strict=True)
        for flag, wanted in words.items()
        if flag not in (review.flags or ()) and wanted <= mine
    ]


def _flags(labelled: Sequence[Review]) -> list[str]:
    return sorted({flag for review in labelled for flag in review.flags or ()})


def _words_of_flag(flag: str) -> set[str]:
    words = set(terms_of(flag, Stemmer.LIGHT))
    return words - _FUNCTION_WORDS or words or {flag}


def _compared(flag: str, labelled: Sequence[Review], terms: Sequence[set[str]]) -> FlagInNarratives:
    words = _words_of_flag(flag)
    told = [
        (flag in (review.flags or ()), words <= mine)
        for review, mine in zip(labelled, terms, strict=True)
        if review.narrative
    ]
    flagged = [review for review in labelled if flag in (review.flags or ())]
    lengths = [num_words(review.narrative) for review in flagged]
    return FlagInNarratives(
        flag,
        named=told.count((True, True)),
        silent=told.count((True, False)),
        without_narrative=lengths.count(0),
        only_named=told.count((False, True)),
        kappa=cohen_kappa([has for has, _ in told], [names for _, names in told]),
        median_words=median(lengths),
    )
