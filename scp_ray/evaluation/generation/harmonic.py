"""The harmonic mean that joins a precision and a recall."""


def harmonic_mean(precision: float, recall: float) -> float:
    """Return the F1 of precision and recall; 0 where both are 0."""
    total = precision + recall
    return 2.0 * precision * recall / total if total else 0.0
