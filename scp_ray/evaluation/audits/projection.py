"""Projects the fully labelled reviews to all texts, by stratum."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from scp_ray.errors import ConfigError
from scp_ray.evaluation.audits.reviews import HIGHEST_RATING, LOWEST_RATING, Review
from scp_ray.evaluation.intervals import Interval, normal, wilson

_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Share:
    """How many reviews have something.

    Attributes:
        count: Of the labelled ones.
        share: Of all, estimated, in [0, 1].
        projected: How many of all, estimated.
    """

    count: int
    share: Interval
    projected: Interval


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of all texts, of which some were labelled.

    Attributes:
        name: May be empty.
        size: Texts in it, labelled or not.
        labelled: The fully labelled reviews of it.
    """

    name: str
    size: int
    labelled: tuple[Review, ...]

    @property
    def open_share(self) -> float:
        """Share of the texts that is not labelled."""
        return 1.0 - len(self.labelled) / self.size

    @property
    def is_enough(self) -> bool:
        """Whether it can be projected by itself: all labelled, or at least two."""
        return len(self.labelled) >= min(_ENOUGH, self.size)


@dataclass(frozen=True, slots=True)
class Population:
    """All texts, of which the labelled reviews are a sample.

    Attributes:
        strata: The parts that are projected by themselves; one where strata are not used.
        num_texts: Of all strata.
        too_thin: Strata of the file with too few labelled reviews to be projected by themselves;
            where there is one, all are projected together.
    """

    strata: tuple[Stratum, ...]
    num_texts: int
    too_thin: tuple[str, ...]

    @property
    def labelled(self) -> list[Review]:
        """All fully labelled reviews, by stratum and id."""
        return [review for stratum in self.strata for review in stratum.labelled]

    def share(self, has_it: Callable[[Review], bool]) -> Share:
        """Estimate how many of all texts have something.

        Source: stratified estimate and finite-population correction, Cochran (1977), 5.4 and 5.10;
            Wilson's interval over the effective sample size, as in Franco, Little, Louis and Slud
            (2019), which has width also where none or all have it. The effective size is that of
            shares with one hit and one miss more in each stratum, so that strata that are all or
            nothing do not look certain: our choice, as is that counts stay within the possible.
        """
        counts = [sum(map(has_it, stratum.labelled)) for stratum in self.strata]
        pairs = list(zip(self.strata, counts, strict=True))
        count = sum(counts)
        most = self.num_texts - len(self.labelled) + count
        total = math.fsum(stratum.size * n / len(stratum.labelled) for stratum, n in pairs)
        total = min(max(total, count), most)
        interval = _interval(total / self.num_texts, self._effective_size(pairs))
        projected = Interval(
            total,
            min(max(interval.low * self.num_texts, count), total),
            max(min(interval.high * self.num_texts, most), total),
        )
        share = Interval(
            projected.point / self.num_texts,
            projected.low / self.num_texts,
            projected.high / self.num_texts,
        )
        return Share(count, share, projected)

    def mean(self, value: Callable[[Review], int]) -> Interval:
        """Estimate the mean rating of all texts.

        Source: stratified mean with its normal interval, Cochran (1977), 5.4, cut to the scale.
        """
        values = [[value(review) for review in stratum.labelled] for stratum in self.strata]
        pairs = list(zip(self.strata, values, strict=True))
        point = math.fsum(self._weight(stratum) * fmean(mine) for stratum, mine in pairs)
        point = min(max(point, LOWEST_RATING), HIGHEST_RATING)
        if not all(stratum.is_enough for stratum in self.strata):
            return Interval(point, LOWEST_RATING, HIGHEST_RATING)
        spread = math.fsum(
            self._weight(stratum) ** 2 * stratum.open_share * variance(mine) / len(mine)
            for stratum, mine in pairs
            if stratum.open_share > 0.0
        )
        return normal(point, spread, LOWEST_RATING, HIGHEST_RATING)

    def _weight(self, stratum: Stratum) -> float:
        return stratum.size / self.num_texts

    def _effective_size(self, pairs: Sequence[tuple[Stratum, int]]) -> float:
        """Return how many texts of a simple random sample without end would tell as much."""
        if not all(stratum.is_enough for stratum, _ in pairs):
            return 0.0
        smoothed = [
            (stratum, (count + 1) / (len(stratum.labelled) + 2)) for stratum, count in pairs
        ]
        spread = math.fsum(
            self._weight(stratum) ** 2
            * stratum.open_share
            * share
            * (1.0 - share)
            / (len(stratum.labelled) - 1)
            for stratum, share in smoothed
            if stratum.open_share > 0.0
        )
        point = math.fsum(self._weight(stratum) * share for stratum, share in smoothed)
        return point * (1.0 - point) / spread if spread > 0.0 else math.inf


def population_of(reviews: Iterable[Review]) -> Population:
    """Sort reviews into strata.

    Raises:
        ConfigError: If no review is fully labelled.
    """
    by_name: dict[str, list[Review]] = {}
    for review in sorted(reviews, key=lambda review: review.review_id):
        by_name.setdefault(review.stratum, []).append(review)
    strata = tuple(_stratum(name, by_name[name]) for name in sorted(by_name))
    num_texts = sum(stratum.size for stratum in strata)
    too_thin = tuple(stratum.name for stratum in strata if not stratum.is_enough)
    labelled = tuple(review for stratum in strata for review in stratum.labelled)
    if not labelled:
        message = "no review is fully labelled: rating, labels and flags must be given"
        raise ConfigError(message)
    if too_thin:
        strata = (Stratum("", num_texts, labelled),)
    return Population(strata, num_texts, too_thin if len(by_name) > 1 else ())


def _interval(point: float, effective_size: float) -> Interval:
    if math.isinf(effective_size):
        return Interval(point, point, point)
    if effective_size <= 0.0:
        return Interval(point, 0.0, 1.0)
    return wilson(point * effective_size, effective_size)


def _stratum(name: str, reviews: Sequence[Review]) -> Stratum:
    size = reviews[0].stratum_size or len(reviews)
    return Stratum(name, size, tuple(review for review in reviews if review.is_complete))
