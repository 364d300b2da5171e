"""Publishes generations under a running service while clients ask it, and looks at every reply.

Each edition of the corpus names its number in every sentence, so that a reply shows from its text
alone which generation it was made of.
"""

import asyncio
import multiprocessing
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import httpx

from benchmarks.changing_manuals import make_manuals
from scp_ray.config import Settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.publish import load_current

OK = 200
_EDITION = re.compile(r"\bedition(\d+)\b")
_PAUSE_S = 0.02
_LOAD_S = 60.0
_TIMEOUT_S = 30.0


class Editions:
    """A corpus whose every document changes with each edition, and the index of it.

    Args:
        folder: Where both are to be.
        num_documents: Manuals.
        settings: Of the runs.
    """

    def __init__(self, folder: Path, num_documents: int, settings: Settings) -> None:
        self.corpus = folder / "corpus"
        self.index = folder / "index"
        self._manuals = make_manuals(num_documents, seed=1)
        self._settings = settings
        self.corpus.mkdir()

    def publish(self) -> int:
        """Publish the next edition, and return its generation."""
        number = self.newest + 1
        for doc_id, text in self._manuals.items():
            sentences = text.replace(".\n", f", edition{number}.\n")
            (self.corpus / doc_id).write_text(sentences, encoding="utf-8")
        request = IndexRequest(str(self.corpus), str(self.index), self._settings)
        index_corpus(request, InProcessExecutor(), lambda _line: None)
        return self.newest

    def damage(self, *, remove: bool) -> None:
        """Make the newest generation unreadable: a file is gone, or a byte of it another."""
        manifest = load_current(LocalObjectStore(self.index))
        folder = next(entry.folder for entry in manifest.shards if entry.folder)
        path = self.index / folder / "chunks.arrow"
        if remove:
            path.unlink()
        else:
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)

    @property
    def newest(self) -> int:
        """The generation that ``CURRENT`` names; 0 before the first."""
        if not (self.index / "CURRENT").exists():
            return 0
        return load_current(LocalObjectStore(self.index)).generation


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: when it was sent, how long it took, and what is wrong with its reply."""

    sent: float
    seconds: float
    generation: int
    fault: str | None


@dataclass(slots=True)
class Swap:
    """One new generation under load.

    Attributes:
        generation: Its number.
        is_damaged: Whether the service must not take it.
        began: When it was pointed out to the service.
        ended: When the service served it, or had refused it.
    """

    generation: int
    is_damaged: bool
    began: float
    ended: float = 0.0


@dataclass(slots=True)
class Outcome:
    """All questions and swaps of a run."""

    asked: list[Asked] = field(default_factory=list)
    swaps: list[Swap] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """What was wrong with replies."""
        return [one.fault for one in self.asked if one.fault]

    @property
    def mean_swap_s(self) -> float:
        """Mean seconds of a swap."""
        return sum(swap.ended - swap.began for swap in self.swaps) / len(self.swaps)

    @property
    def p99_ms_in_swaps(self) -> float:
        """99th percentile of the questions that met a swap."""
        met = [(one.seconds, 1.0) for one in self.asked if self._meets_swap(one)]
        return 1000 * weighted_percentile(met, 0.99)

    @property
    def p99_ms_outside(self) -> float:
        """99th percentile of the questions that met none."""
        others = [(seconds, 1.0) for seconds in self._outside_s()]
        return 1000 * weighted_percentile(others, 0.99)

    @property
    def p99_ms_in_other_moments(self) -> float:
        """99th percentile of the questions that moments as long as a swap, but without one, meet.

        A short moment meets slow questions oftener than quick ones, whatever happens in it: one of
        ``d`` seconds as often as ``d`` and the length of the moment say. That is what questions
        that met a swap are like.
        """
        met = [(seconds, seconds + self.mean_swap_s) for seconds in self._outside_s()]
        return 1000 * weighted_percentile(met, 0.99)

    def _outside_s(self) -> list[float]:
        return [one.seconds for one in self.asked if not self._meets_swap(one)]

    def _meets_swap(self, one: Asked) -> bool:
        ends = one.sent + one.seconds
        return any(swap.began <= ends and one.sent <= swap.ended for swap in self.swaps)


def weighted_percentile(values: Sequence[tuple[float, float]], share: float) -> float:
    """Return the least value that, with those below it, has ``share`` of the weight.

    Args:
        values: Values and their weights; at least one.
        share: From 0 to 1.
    """
    ordered = sorted(values)
    wanted = share * sum(weight for _, weight in ordered)
    reached = accumulate(weight for _, weight in ordered)
    return next(
        (value for (value, _), so_far in zip(ordered, reached, strict=True) if so_far >= wanted),
        ordered[-1][0],
    )


def swap_under_load(
    address: str,
    editions: Editions,
    *,
    num_clients: int,
    seconds: float,
    damaged: Sequence[bool],
    questions: Sequence[str],
) -> Outcome:
    """Publish generations, evenly over the time, while clients ask without a pause.

    Args:
        address: Of the service; it does not look for generations by itself in the meantime.
        editions: The corpus and the index that it serves.
        num_clients: Clients, each with a connection of its own.
        seconds: Length of the run, and longer if the swaps take longer.
        damaged: For each generation to publish whether it is damaged before the service sees it.
        questions: Asked in turn.
    """
    outcome = Outcome()
    with (
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as publisher,
        _asking(address, num_clients, questions, outcome.asked),
        httpx.Client(base_url=address, timeout=_TIMEOUT_S) as client,
    ):
        began = time.perf_counter()
        for number, is_damaged in enumerate(damaged):
            _sleep_until(began + (number + 0.5) * seconds / len(damaged))
            generation = publisher.submit(editions.publish).result()
            if is_damaged:
                editions.damage(remove=number % 2 == 0)
            swap = Swap(generation, is_damaged, time.perf_counter())
            client.post("/v1/admin/reload", json={}).raise_for_status()
            _wait_for(client, swap)
            outcome.swaps.append(swap)
        _sleep_until(began + seconds)
    return outcome


def _wait_for(client: httpx.Client, swap: Swap) -> None:
    ends = time.perf_counter() + _LOAD_S
    about = None
    while time.perf_counter() < ends:
        about = client.get("/v1/index").json()
        has_failed = about["reload"]["state"] == "failed"
        if swap.is_damaged and about["generation"] == swap.generation:
            message = f"the service took generation {swap.generation}, which is damaged"
            raise RuntimeError(message)
        if about["generation"] == swap.generation or (
            has_failed and about["reload"]["generation"] == swap.generation
        ):
            swap.ended = time.perf_counter()
            return
        time.sleep(_PAUSE_S)
    message = f"generation {swap.generation} was neither taken nor refused: {about}"
    raise RuntimeError(message)


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))


@contextmanager
def _asking(
    address: str, num_clients: int, questions: Sequence[str], asked: list[Asked]
) -> Iterator[None]:
    stopped = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(_ask_all(address, num_clients, questions, asked, stopped.is_set))
    )
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


async def _ask_all(
    address: str,
    num_clients: int,
    questions: Sequence[str],
    asked: list[Asked],
    is_over: Callable[[], bool],
) -> None:
    limits = httpx.Limits(max_connections=num_clients)

    async def ask(client: httpx.AsyncClient, place: int) -> None:
        while not is_over():
            question = questions[place % len(questions)]
            place += 1
            asked.append(await _ask(client, question))

    async with httpx.AsyncClient(base_url=address, timeout=_TIMEOUT_S, limits=limits) as client:
        await asyncio.gather(*(ask(client, 7 * number) for number in range(num_clients)))


async def _ask(client: httpx.AsyncClient, question: str) -> Asked:
    sent = time.perf_counter()
    body = {"query": question, "deadline_ms": int(1000 * _TIMEOUT_S)}
    try:
        response = await client.post("/v1/query", json=body)
    except httpx.HTTPError as error:
        return Asked(sent, time.perf_counter() - sent, 0, f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - sent
    if response.status_code != OK:
        return Asked(sent, seconds, 0, f"status {response.status_code}: {response.text[:200]}")
    reply = response.json()
    return Asked(sent, seconds, reply["generation"], fault_of(reply))


def fault_of(reply: dict[str, object]) -> str | None:
    """Return what is wrong with a reply to a question of the manuals; None if nothing is."""
    results = reply["results"]
    if not isinstance(results, list) or not results:
        return "no results"
    if reply["degraded"]:
        return f"degraded: {reply['degraded']}"
    editions = {int(number) for hit in results for number in _EDITION.findall(hit["text"])}
    if editions != {reply["generation"]}:
        return f"texts of editions {sorted(editions)} in generation {reply['generation']}"
    return None
