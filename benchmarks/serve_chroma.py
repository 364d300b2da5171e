"""Chroma's own server, and a minimal HTTP endpoint in front of it."""

import atexit
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found]

from benchmarks.serve_endpoint import FIELDS, GRAPH, Hit, Vector, read_chunks, run_endpoint

_NAME = "chunks"
_STORED = [name for name in FIELDS if name != "text"]
_BATCH = 1000
_START_S, _PAUSE_S = 60.0, 0.1


class Chroma:
    """A collection of a server that ends with this process."""

    ladder = tuple({"ef_search": ef_search} for ef_search in (32, 64, 128, 256, 512, 1024))

    def __init__(self, plain: Path, store: Path) -> None:
        is_filled = store.exists()
        self._store = store
        self._server, self._client = _started(store)
        atexit.register(self._end)
        if not is_filled:
            self._fill(plain)
        self._collection = self._client.get_collection(_NAME, embedding_function=None)

    def use(self, setting: Mapping[str, int]) -> None:
        """Search with this ``ef_search``, which counts when the graph is opened."""
        self._collection.modify(configuration={"hnsw": dict(setting)})
        self._end()
        self._server, self._client = _started(self._store)
        self._collection = self._client.get_collection(_NAME, embedding_function=None)

    def search(self, vector: Vector, top_k: int) -> list[Hit]:
        """Return the nearest chunks by cosine, best first."""
        found = self._collection.query(
            query_embeddings=[vector],
            n_results=top_k,
            include=["documents", "metadatas", "distances"],
        )
        columns = (found["documents"][0], found["metadatas"][0], found["distances"][0])
        return [
            Hit(text=text, score=1.0 - distance, **metadata)
            for text, metadata, distance in zip(*columns, strict=True)
        ]

    def _end(self) -> None:
        self._server.terminate()
        self._server.wait()

    def _fill(self, plain: Path) -> None:
        graph = {
            "space": "cosine",
            "max_neighbors": GRAPH["m"],
            "ef_construction": GRAPH["ef_construction"],
        }
        collection = self._client.create_collection(
            _NAME, configuration={"hnsw": graph}, embedding_function=None
        )
        chunks, vectors = read_chunks(plain)
        for start in range(0, len(chunks), _BATCH):
            batch = chunks[start : start + _BATCH]
            collection.add(
                ids=[chunk["id"] for chunk in batch],
                embeddings=vectors[start : start + _BATCH],
                documents=[chunk["text"] for chunk in batch],
                metadatas=[{name: chunk[name] for name in _STORED} for chunk in batch],
            )


def _started(store: Path) -> tuple["subprocess.Popen[bytes]", Any]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(store)]
    server = subprocess.Popen(  # noqa: S603 - arguments are this file's own
        [*command, "--host", "127.0.0.1", "--port", str(port)], stdout=subprocess.DEVNULL
    )
    ends = time.monotonic() + _START_S
    while True:
        try:
            return server, chromadb.HttpClient(host="127.0.0.1", port=port)
        except ValueError:
            if time.monotonic() > ends:
                server.kill()
                raise
            time.sleep(_PAUSE_S)


if __name__ == "__main__":
    run_endpoint(Chroma)
