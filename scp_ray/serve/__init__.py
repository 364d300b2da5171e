"""Answering questions: one generation opened in this process, or served over HTTP by Ray Serve."""
