"""SCP-HNSW's method, pure: positional codes, prior, score, gap selector, two-pass query, merge.

Nothing here knows FAISS, files or Ray. A shard is anything that has ``candidates.ShardSearcher``.
"""
