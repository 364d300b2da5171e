"""The audit of text evidence: ratings, flags, narratives and issues, projected to all texts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from scp_ray.evaluation.audits.narratives import (
    FlagInNarratives,
    FlagsAndDetail,
    Lead,
    flags_and_detail,
    flags_in_narratives,
    has_detail,
    leads,
)
from scp_ray.evaluation.audits.projection import Population, Share, population_of
from scp_ray.evaluation.audits.reviews import HIGHEST_RATING, LOWEST_RATING, Review
from scp_ray.evaluation.audits.taxonomy import IssueCount, IssuePair, count_issues, count_pairs
from scp_ray.evaluation.intervals import Interval, wilson

RATINGS: Final = range(LOWEST_RATING, HIGHEST_RATING + 1)
_BANDS: Final = {"1-2": range(1, 3), "3": range(3, 4), "4-5": range(4, 6)}


@dataclass(frozen=True, slots=True)
class LabelRate:
    """How many labelled reviews of a group have a label."""

    label: str
    count: int
    share: Interval


@dataclass(frozen=True, slots=True)
class Group:
    """The reviews of one stratum, template or reviewer.

    Attributes:
        name: Which; may be empty.
        num_reviews: Of the file.
        num_labelled: Of them.
        mean_rating: Of the labelled; None where there is none, like the rates below.
        flagged: Share with a flag.
        detailed: Share whose narrative tells a detail.
        labels: Share of every label that one of them has, in the order of the names.
    """

    name: str
    num_reviews: int
    num_labelled: int
    mean_rating: float | None
    flagged: Interval | None
    detailed: Interval | None
    labels: tuple[LabelRate, ...]


@dataclass(frozen=True, slots=True)
class TextAudit:
    """What a file of reviews comes to.

    Attributes:
        num_reviews: Rows of the file.
        num_labelled: Of them fully labelled; all below is about these.
        num_partial: Of them begun but not fully labelled.
        num_texts: What is projected to: the rows, or more where strata say how large they are.
        strata: Strata that were projected by themselves; empty where all were projected together.
        too_thin: Strata with too few labelled reviews, the reason why all were projected together.
        mean_rating: Of all texts.
        ratings: Share of each rating from 1 to 5.
        bands: Share of the ratings 1-2, 3 and 4-5.
        flagged: Share with a flag.
        detailed: Share whose narrative tells a detail.
        flags_and_detail: The same two in one table, of the labelled.
        flags_in_narratives: Every flag against the narratives.
        leads: Reviews that name a flag and do not have it.
        issues: Every flag and label.
        pairs: Issues that are named together.
        by_stratum: Groups in the order of the names, like those below.
        by_template: By what the text was made from.
        by_reviewer: By who reviewed it.
    """

    num_reviews: int
    num_labelled: int
    num_partial: int
    num_texts: int
    strata: tuple[str, ...]
    too_thin: tuple[str, ...]
    mean_rating: Interval
    ratings: dict[str, Share]
    bands: dict[str, Share]
    flagged: Share
    detailed: Share
    flags_and_detail: FlagsAndDetail
    flags_in_narratives: tuple[FlagInNarratives, ...]
    leads: tuple[Lead, ...]
    issues: tuple[IssueCount, ...]
    pairs: tuple[IssuePair, ...]
    by_stratum: tuple[Group, ...]
    by_template: tuple[Group, ...]
    by_reviewer: tuple[Group, ...]


def audit_reviews(reviews: Sequence[Review]) -> TextAudit:
    """Audit reviews; their order makes no difference.

    Raises:
        ConfigError: If no review is fully labelled.

    Source: the text-evidence audit of SCP-HNSW (arXiv:2606.01542); the intervals, the rule of what
        is a detail and the comparison of flags with narratives are our choice.
    """
    population = population_of(reviews)
    labelled = population.labelled
    return TextAudit(
        num_reviews=len(reviews),
        num_labelled=len(labelled),
        num_partial=sum(one.is_started and not one.is_complete for one in reviews),
        num_texts=population.num_texts,
        strata=tuple(stratum.name for stratum in population.strata if stratum.name),
        too_thin=population.too_thin,
        mean_rating=population.mean(_rating),
        ratings={str(rating): _rated(population, [rating]) for rating in RATINGS},
        bands={name: _rated(population, band) for name, band in _BANDS.items()},
        flagged=population.share(lambda review: bool(review.flags)),
        detailed=population.share(has_detail),
        flags_and_detail=flags_and_detail(labelled),
        flags_in_narratives=tuple(flags_in_narratives(labelled)),
        leads=tuple(leads(labelled)),
        issues=tuple(count_issues(population)),
        pairs=tuple(count_pairs(labelled)),
        by_stratum=_groups(reviews, lambda review: review.stratum),
        by_template=_groups(reviews, lambda review: review.template),
        by_reviewer=_groups(reviews, lambda review: review.reviewer),
    )


def _rating(review: Review) -> int:
    return review.rating or 0


def _rated(population: Population, ratings: Iterable[int]) -> Share:
    wanted = set(ratings)
    return population.share(lambda review: review.rating in wanted)


def _groups(reviews: Sequence[Review], key: Callable[[Review], str]) -> tuple[Group, ...]:
    groups: dict[str, list[Review]] = {}
    for review in reviews:
        groups.setdefault(key(review), []).append(review)
    return tuple(_group(name, groups[name]) for name in sorted(groups))


def _group(name: str, reviews: Sequence[Review]) -> Group:
    labelled = [review for review in reviews if review.is_complete]
    if not labelled:
        return Group(name, len(reviews), 0, None, None, None, ())
    counts = Counter(label for review in labelled for label in review.labels or ())
    num_labelled = len(labelled)
    return Group(
        name,
        len(reviews),
        num_labelled,
        fmean(map(_rating, labelled)),
        wilson(sum(bool(review.flags) for review in labelled), num_labelled),
        wilson(sum(map(has_detail, labelled)), num_labelled),
        tuple(
            LabelRate(label, count, wilson(count, num_labelled))
            for label, count in sorted(counts.items())
        ),
    )
