"""CHOP's two ports, and a language model, with answers that are written down beforehand."""

import asyncio
from collections.abc import Callable, Mapping

import numpy as np

from scp_ray.errors import AnnotationError
from scp_ray.protocols import Generation, GenerationRequest
from scp_ray.records import Cnm

_SHOWN_CHARACTERS = 60
_MAX_TURNS = 8


class ScriptedExtractor:
    """A ``CnmExtractor`` that looks its answers up.

    Given a seed, it answers in a random order when several calls wait.

    Attributes:
        calls: The chunks that were asked about, in order, repeated ones too.
    """

    def __init__(self, answers: Mapping[str, Cnm], *, seed: int | None = None) -> None:
        self._answers = dict(answers)
        self._delays = _Delays(seed)
        self.calls: list[str] = []

    async def extract_cnm(self, chunk: str) -> Cnm:
        """Return the answer that is written down for this chunk.

        Raises:
            AnnotationError: If there is none.
        """
        self.calls.append(chunk)
        await self._delays.wait()
        if chunk not in self._answers:
            message = f"no signature is scripted for {chunk[:_SHOWN_CHARACTERS]!r}"
            raise AnnotationError(message)
        return self._answers[chunk]


class ScriptedDecider:
    """A ``ContinuityDecider`` that looks its answers up.

    Given a seed, it answers in a random order when several calls wait.

    Attributes:
        calls: The pairs that were asked about, in order, repeated ones too.
    """

    def __init__(self, answers: Mapping[tuple[str, str], bool], *, seed: int | None = None) -> None:
        self._answers = dict(answers)
        self._delays = _Delays(seed)
        self.calls: list[tuple[str, str]] = []

    async def decide_continuity(self, chunk: str, next_chunk: str) -> bool:
        """Return the answer that is written down for this pair.

        Raises:
            AnnotationError: If there is none.
        """
        pair = (chunk, next_chunk)
        self.calls.append(pair)
        await self._delays.wait()
        if pair not in self._answers:
            shown = " and ".join(repr(text[:_SHOWN_CHARACTERS]) for text in pair)
            message = f"no decision is scripted for {shown}"
            raise AnnotationError(message)
        return self._answers[pair]


class ScriptedGenerator:
    """A ``TextGenerator`` that answers by a function; it may raise, too.

    Given a seed, it answers in a random order when several requests wait. Tokens are counted as
    words.

    Attributes:
        requests: What was asked, in order.
        max_waiting: Most requests that waited at once.
    """

    def __init__(
        self, answer: Callable[[GenerationRequest], str], *, seed: int | None = None
    ) -> None:
        self._answer = answer
        self._delays = _Delays(seed)
        self._num_waiting = 0
        self.requests: list[GenerationRequest] = []
        self.max_waiting = 0

    async def generate(self, request: GenerationRequest) -> Generation:
        """Answer one request."""
        self.requests.append(request)
        self._num_waiting += 1
        self.max_waiting = max(self.max_waiting, self._num_waiting)
        try:
            await self._delays.wait()
            text = self._answer(request)
        finally:
            self._num_waiting -= 1
        prompt = f"{request.instructions} {request.content}"
        return Generation(text, len(prompt.split()), 0, len(text.split()))

    async def close(self) -> None:
        """Have nothing to let go of."""


class _Delays:
    """Lets other calls go first, a random number of times."""

    def __init__(self, seed: int | None) -> None:
        self._rng = None if seed is None else np.random.default_rng(seed)

    async def wait(self) -> None:
        turns = 1 + int(self._rng.integers(_MAX_TURNS)) if self._rng else 0
        for _ in range(turns):
            await asyncio.sleep(0)
