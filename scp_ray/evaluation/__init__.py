"""Retrieval quality: query files with gold spans, relevance of a hit, metrics and their report."""
