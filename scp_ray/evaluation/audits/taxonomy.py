"""Which issues reviews name, and which of them together."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import NamedTuple

from scp_ray.evaluation.audits.projection import Population, Share
from scp_ray.evaluation.audits.reviews import Review


class Issue(NamedTuple):
    """A name that reviewers gave, as a flag or as a label; sorts by kind, then name."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class IssueCount:
    """How often an issue was named.

    Attributes:
        kind: ``flag`` or ``label``.
        name: The issue.
        share: How many reviews name it.
    """

    kind: str
    name: str
    share: Share


@dataclass(frozen=True, slots=True)
class IssuePair:
    """Two issues in the same reviews.

    Attributes:
        first: The issue that sorts first.
        second: The other.
        count: Labelled reviews that name both.
        overlap: Of those that name either, in (0, 1].
    """

    first: Issue
    second: Issue
    count: int
    overlap: float


def issues_of(review: Review) -> list[Issue]:
    """Return what a review names, sorted."""
    flags = [Issue("flag", name) for name in review.flags or ()]
    return sorted(flags + [Issue("label", name) for name in review.labels or ()])


def count_issues(population: Population) -> list[IssueCount]:
    """Count every issue of the labelled reviews: flags, then labels, the most frequent first."""
    named = {review.review_id: set(issues_of(review)) for review in population.labelled}
    issues = sorted(set(chain.from_iterable(named.values())))
    counts = [
        IssueCount(issue.kind, issue.name, population.share(_names(issue, named)))
        for issue in issues
    ]
    return sorted(counts, key=lambda one: (one.kind, -one.share.count, one.name))


def _names(issue: Issue, named: Mapping[str, set[Issue]]) -> Callable[[Review], bool]:
    return lambda review: issue in named[review.review_id]


def count_pairs(labelled: Sequence[Review]) -> list[IssuePair]:
    """Count the issues that are named together, the most frequent first, then by name."""
    named = [issues_of(review) for review in labelled]
    singles = Counter(issue for issues in named for issue in issues)
    together = Counter(pair for issues in named for pair in combinations(issues, 2))
    pairs = [
        IssuePair(first, second, count, count / (singles[first] + singles[second] - count))
        for (first, second), count in together.items()
    ]
    return sorted(pairs, key=lambda pair: (-pair.count, pair.first, pair.second))
