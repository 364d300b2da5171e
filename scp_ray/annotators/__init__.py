"""annotators."""
