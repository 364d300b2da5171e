"""Encoders: sentence-transformers models, and a hash encoder for tests. Made by ``factory``."""
