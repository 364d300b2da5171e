"""One shard of the index: which documents are in it, its files, its graph, and the audit of it.

FAISS is spelled in ``hnsw`` alone. The method that searches shards is ``scp_ray.retrieval``.
"""
