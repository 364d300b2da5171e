"""The audit of OCR evidence: pass rates by slice, agreement of the raters, disputed cases."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

from scp_ray.evaluation.audits.agreement import cohen_kappa, fleiss_kappa
from scp_ray.evaluation.audits.ratings import SCORES, OcrRating
from scp_ray.evaluation.intervals import Interval, clustered, wilson


@dataclass(frozen=True, slots=True)
class RatedSlice:
    """The ratings of one slice, or of all.

    Attributes:
        name: Which.
        num_cases: Cases in it.
        num_ratings: Ratings of them.
        num_passed: Ratings that pass.
        pass_rate: Share that passes; the interval takes every rating as independent.
        pass_rate_by_case: The same share; the interval is as wide as ratings of one case are alike.
        median_score: Of the ratings.
        num_complete: Cases that every rater of the file rated; the two kappas are over these.
        kappa_pass: Fleiss' kappa of pass and fail; None without a complete case or with one rater.
        kappa_score: Fleiss' kappa of the scores, as names without an order.
    """

    name: str
    num_cases: int
    num_ratings: int
    num_passed: int
    pass_rate: Interval
    pass_rate_by_case: Interval
    median_score: float
    num_complete: int
    kappa_pass: float | None
    kappa_score: float | None


@dataclass(frozen=True, slots=True)
class RaterPair:
    """How far two raters agree on the cases that both rated; None where there is none.

    Attributes:
        first: The rater whose name sorts first.
        second: The other.
        num_cases: Cases that both rated.
        weighted_kappa: Cohen's kappa of the scores, weighted by the squared distance.
        kappa_pass: Cohen's kappa of pass and fail.
    """

    first: str
    second: str
    num_cases: int
    weighted_kappa: float | None
    kappa_pass: float | None


@dataclass(frozen=True, slots=True)
class Rater:
    """One rater's ratings.

    Attributes:
        name: Who.
        num_ratings: How many.
        pass_rate: Share that passes.
        median_score: Of them.
    """

    name: str
    num_ratings: int
    pass_rate: Interval
    median_score: float


@dataclass(frozen=True, slots=True)
class RatedCase:
    """One case.

    Attributes:
        case: Which.
        slice_name: Of which slice.
        scores: By rater, in the order of their names.
        num_passed: Ratings that pass.
        spread: Mean distance of two raters' scores, 0 where all agree or one rated.
        split: Share of the pairs of raters of whom one passes it and one does not.
    """

    case: str
    slice_name: str
    scores: dict[str, int]
    num_passed: int
    spread: float
    split: float


@dataclass(frozen=True, slots=True)
class OcrAudit:
    """What a file of ratings comes to.

    Attributes:
        overall: All ratings.
        slices: Each slice, the best pass rate first, then by name.
        pairs: Each pair of raters, by name.
        raters: Each rater, by name.
        cases: Each case, the most disputed first: by spread, then split, then name.
    """

    overall: RatedSlice
    slices: tuple[RatedSlice, ...]
    pairs: tuple[RaterPair, ...]
    raters: tuple[Rater, ...]
    cases: tuple[RatedCase, ...]


def audit_ratings(ratings: Iterable[OcrRating]) -> OcrAudit:
    """Audit ratings, at least one; their order makes no difference.

    Source: the OCR audit of SCP-HNSW (arXiv:2606.01542), which names Wilson intervals, Fleiss' and
        weighted Cohen's kappa. Squared weights, complete cases for Fleiss' kappa, the second
        interval and the order of disputed cases are our choice.
    """
    ordered = sorted(ratings, key=lambda one: (one.case, one.rater))
    raters = sorted({one.rater for one in ordered})
    by_slice = _grouped(ordered, lambda one: one.slice_name)
    slices = [_slice(name, mine, len(raters)) for name, mine in by_slice.items()]
    by_rater = _grouped(ordered, lambda one: one.rater)
    cases = [_case(mine) for mine in _grouped(ordered, lambda one: one.case).values()]
    return OcrAudit(
        _slice("all", ordered, len(raters)),
        tuple(sorted(slices, key=lambda one: (-one.pass_rate.point, one.name))),
        tuple(_pair(by_rater[one], by_rater[other]) for one, other in combinations(raters, 2)),
        tuple(_rater(by_rater[rater]) for rater in raters),
        tuple(sorted(cases, key=lambda one: (-one.spread, -one.split, one.case))),
    )


def _grouped(
    ratings: Sequence[OcrRating], key: Callable[[OcrRating], str]
) -> dict[str, list[OcrRating]]:
    groups: dict[str, list[OcrRating]] = {}
    for rating in ratings:
        groups.setdefault(key(rating), []).append(rating)
    return groups


def _slice(name: str, ratings: Sequence[OcrRating], num_raters: int) -> RatedSlice:
    cases = list(_grouped(ratings, lambda one: one.case).values())
    complete = [case for case in cases if len(case) == num_raters]
    kappa_pass = fleiss_kappa([[one.passed for one in case] for case in complete])
    num_passed = sum(one.passed for one in ratings)
    pass_rate = wilson(num_passed, len(ratings))
    # Without a kappa nothing is known of how alike ratings of a case are: the widest is assumed.
    alike = 1.0 if kappa_pass is None else kappa_pass
    return RatedSlice(
        name,
        len(cases),
        len(ratings),
        num_passed,
        pass_rate,
        clustered(pass_rate, len(ratings), len(cases), alike),
        median(one.score for one in ratings),
        len(complete),
        kappa_pass,
        fleiss_kappa([[one.score for one in case] for case in complete]),
    )


def _pair(first: Sequence[OcrRating], second: Sequence[OcrRating]) -> RaterPair:
    others = {one.case: one for one in second}
    both = [(one, others[one.case]) for one in first if one.case in others]
    return RaterPair(
        first[0].rater,
        second[0].rater,
        len(both),
        cohen_kappa([one.score for one, _ in both], [other.score for _, other in both], SCORES),
        cohen_kappa([one.passed for one, _ in both], [other.passed for _, other in both]),
    )


def _rater(ratings: Sequence[OcrRating]) -> Rater:
    num_passed = sum(one.passed for one in ratings)
    return Rater(
        ratings[0].rater,
        len(ratings),
        wilson(num_passed, len(ratings)),
        median(one.score for one in ratings),
    )


def _case(ratings: Sequence[OcrRating]) -> RatedCase:
    pairs = list(combinations(ratings, 2))
    return RatedCase(
        ratings[0].case,
        ratings[0].slice_name,
        {one.rater: one.score for one in ratings},
        sum(one.passed for one in ratings),
        fmean(abs(one.score - other.score) for one, other in pairs) if pairs else 0.0,
        fmean(one.passed != other.passed for one, other in pairs) if pairs else 0.0,
    )
