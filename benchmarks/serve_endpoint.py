"""A minimal HTTP endpoint over a vector database, as one of its users would write it.

Runs in the environment of the other services (``requirements-serve.txt``), so it imports nothing
of scp_ray. The encoder is the same model with the same number of threads as the service's.
"""

import argparse
import asyncio
import json
import shutil
import signal
import socket
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FIELDS = (
    "doc_id",
    "chunk_index",
    "num_chunks",
    "char_start",
    "char_end",
    "text",
    "category",
    "model",
)
GRAPH = {"m": 32, "ef_construction": 200}  # as index.m and index.ef_construction
_MOST_GATHERED = 32
_BACKLOG = 256

Vector = Any  # float32, shape (dim,)


class Question(BaseModel):
    """What is asked."""

    query: str
    top_k: int = 10


class Hit(BaseModel):
    """One chunk that was found."""

    doc_id: str
    chunk_index: int
    num_chunks: int
    char_start: int
    char_end: int
    text: str
    category: str
    model: str
    score: float


class Reply(BaseModel):
    """The answer."""

    results: list[Hit]


class Database(Protocol):
    """A filled database."""

    @property
    def ladder(self) -> Sequence[Mapping[str, int]]:
        """Settings of its search, cheapest first."""
        ...

    def use(self, setting: Mapping[str, int]) -> None:
        """Search with this setting from now on."""
        ...

    def search(self, vector: Vector, top_k: int) -> list[Hit]:
        """Return the nearest chunks by cosine, best first."""
        ...


class GatheringEncoder:
    """Encodes in one call the questions that wait at the same moment.

    Args:
        model: The encoder.
    """

    def __init__(self, model: "SentenceTransformer") -> None:
        self._model = model
        self._waiting: list[tuple[str, asyncio.Future[Vector]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def encode(self, question: str) -> Vector:
        """Return the vector of a question."""
        vector: asyncio.Future[Vector] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, vector))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await vector

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_MOST_GATHERED], self._waiting[_MOST_GATHERED:]
            vectors = await asyncio.to_thread(
                self._model.encode, [text for text, _ in batch], show_progress_bar=False
            )
            for (_, waiting), vector in zip(batch, vectors, strict=True):
                waiting.set_result(vector)
        self._worker = None


def create_endpoint(model: "SentenceTransformer", database: Database, *, gather: bool) -> FastAPI:
    """Return the endpoint ``/v1/query``.

    Args:
        model: The encoder.
        database: Where the chunks are.
        gather: Whether questions that wait are encoded together; else each in a thread by itself.
    """
    api = FastAPI()
    encoder = GatheringEncoder(model)

    async def answer_gathered(question: Question) -> Reply:
        vector = await encoder.encode(question.query)
        return Reply(results=await asyncio.to_thread(database.search, vector, question.top_k))

    def answer(question: Question) -> Reply:
        vector = model.encode(question.query, show_progress_bar=False)
        return Reply(results=database.search(vector, question.top_k))

    api.post("/v1/query")(answer_gathered if gather else answer)
    return api


def calibrated(
    database: Database, asked: Sequence[Mapping[str, Any]], least_recall: float
) -> tuple[Mapping[str, int], float]:
    """Let a database search with its cheapest setting that finds enough.

    Args:
        database: The database.
        asked: Questions: ``vector``, and the ids of the ``nearest`` chunks.
        least_recall: Share of these that it has to find, as a mean over the questions.

    Returns:
        The setting and its recall; the last setting where none is enough.
    """
    recall = 0.0
    for setting in database.ladder:
        database.use(setting)
        recall = statistics.mean(
            found_share(database.search(np.float32(one["vector"]), len(one["nearest"])), one)
            for one in asked
        )
        if recall >= least_recall:
            break
    return setting, recall


def found_share(hits: Sequence[Hit], asked: Mapping[str, Any]) -> float:
    """Return which share of the nearest chunks is among the hits."""
    ids = {f"{hit.doc_id}#{hit.chunk_index}" for hit in hits}
    return len(ids.intersection(asked["nearest"])) / len(asked["nearest"])


def read_chunks(plain: Path) -> tuple[list[dict[str, Any]], Vector]:
    """Return the chunks and their vectors, shape (n, dim), in the same order."""
    lines = (plain / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines], np.load(plain / "vectors.npy")


def run_endpoint(open_database: Callable[[Path, Path], Database]) -> None:
    """Serve until SIGTERM, or with ``--fill`` make the database and end.

    Writes ``ready``, the port, and the setting of the search as JSON once it listens.

    Args:
        open_database: Takes the folder of the plain files and the folder of the database.
    """
    import torch
    import uvicorn
    from sentence_transformers import SentenceTransformer

    signal.signal(signal.SIGTERM, _leave)
    args = _arguments()
    if args.fill:
        _fill(open_database, args.plain, args.store)
        return
    torch.set_num_threads(args.threads)
    model = SentenceTransformer(args.model, device="cpu", local_files_only=True)
    database = open_database(args.plain, args.store)
    asked = json.loads((args.plain / "questions.json").read_text(encoding="utf-8"))
    setting, recall = calibrated(database, asked, args.recall)
    listening = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    state = {"setting": dict(setting), "recall": recall}
    sys.stdout.write(f"ready {listening.getsockname()[1]} {json.dumps(state)}\n")
    sys.stdout.flush()
    config = uvicorn.Config(
        create_endpoint(model, database, gather=args.gather),
        log_level="warning",
        access_log=False,
        backlog=_BACKLOG,
    )
    asyncio.run(uvicorn.Server(config).serve([listening]))


def _fill(open_database: Callable[[Path, Path], Database], plain: Path, store: Path) -> None:
    """Make a database that is not there, or was not filled to the end.

    In a process of its own, so that what is measured was opened from its files.
    """
    filled = store.with_name(f"{store.name}.filled")
    if filled.exists():
        return
    shutil.rmtree(store, ignore_errors=True)
    store.parent.mkdir(parents=True, exist_ok=True)
    open_database(plain, store)
    filled.touch()


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("plain", type=Path, help="folder of the plain files")
    parser.add_argument("store", type=Path, help="folder of the database")
    parser.add_argument("model", help="folder of the encoder")
    parser.add_argument("--threads", type=int, default=1, help="of one forward pass")
    parser.add_argument("--recall", type=float, default=1.0, help="recall@10 that is wanted")
    parser.add_argument("--fill", action="store_true", help="only make the database")
    parser.add_argument("--gather", action="store_true", help="encode waiting questions together")
    return parser.parse_args()
