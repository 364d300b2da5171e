"""How far raters agree beyond chance; the measures are those of statsmodels and scikit-learn.

Where all agree, kappa is 1 here, also where they have only ever given one value, for which the
libraries divide nothing by nothing.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np


def cohen_kappa(
    first: Sequence[int], second: Sequence[int], scale: Sequence[int] | None = None
) -> float | None:
    """Return Cohen's kappa of two raters over the same cases, at most 1; None without a case.

    Args:
        first: What the one rater gave to each case.
        second: What the other gave.
        scale: The values of an ordinal scale, ascending: disagreement then weighs by the square of
            the distance on it. None = any disagreement weighs the same.

    Source: Cohen (1960) and (1968). Squared weights make kappa an intraclass correlation: Fleiss
        and Cohen (1973).
    """
    from sklearn.metrics import cohen_kappa_score

    if not first:
        return None
    if list(first) == list(second):
        return 1.0
    weights = None if scale is None else "quadratic"
    return float(cohen_kappa_score(first, second, labels=scale, weights=weights))


def fleiss_kappa(cases: Sequence[Sequence[int]]) -> float | None:
    """Return Fleiss' kappa, at most 1; None without a case of two or more ratings.

    Args:
        cases: The ratings of each case, as many of every case, whoever gave them.

    Source: Fleiss (1971), Psychological Bulletin 76(5).
    """
    from statsmodels.stats.inter_rater import fleiss_kappa as of_counts

    values = sorted(set(chain.from_iterable(cases)))
    if not cases or len(cases[0]) < len(("one", "other")):
        return None
    if len(values) == 1:
        return 1.0
    counts = np.array([[list(case).count(value) for value in values] for case in cases])
    return min(float(of_counts(counts)), 1.0)
