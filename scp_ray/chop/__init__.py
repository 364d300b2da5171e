"""chop."""
