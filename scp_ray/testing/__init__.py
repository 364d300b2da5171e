"""Deterministic fakes of the ports, for tests of scp_ray and of what is built on it.

They are light: importing this package imports no model and no cluster. The encoder for tests is
``scp_ray.embedding.hash_encoder``, since settings can name it.
"""

from scp_ray.testing.memory_store import MemoryObjectStore
from scp_ray.testing.overlap_reranker import OverlapReranker
from scp_ray.testing.scripted import ScriptedDecider, ScriptedExtractor, ScriptedGenerator

__all__ = [
    "MemoryObjectStore",
    "OverlapReranker",
    "ScriptedDecider",
    "ScriptedExtractor",
    "ScriptedGenerator",
]
