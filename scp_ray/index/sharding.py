"""Which shard a document belongs to."""

import hashlib

_HASH_BYTES = 8


def shard_of(doc_id: str, num_shards: int) -> int:
    """Return the shard of a document, in [0, num_shards).

    The first 64 bits of SHA-256 over the UTF-8 bytes of ``doc_id``, modulo ``num_shards``. It
    depends on nothing else, so every process, machine and version agrees; a published index
    relies on it.

    Raises:
        ValueError: If ``num_shards`` < 1.
    """
    if num_shards < 1:
        message = f"num_shards must be at least 1, got {num_shards}"
        raise ValueError(message)
    digest = hashlib.sha256(doc_id.encode()).digest()
    return int.from_bytes(digest[:_HASH_BYTES], "big") % num_shards
