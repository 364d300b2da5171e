"""An engine with answers by the text and delays as an engine that batches has them."""

import asyncio
import json
import zlib
from dataclasses import dataclass

from scp_ray.protocols import Generation, GenerationRequest

_ANSWER = json.dumps({"category": "kettle", "nouns": ["kettle lid"], "model": None})
_TOKEN_CHARACTERS = 4


@dataclass(frozen=True, slots=True)
class ServiceModel:
    """How long requests take.

    A request takes its own seconds, and of each one that the engine works on when it begins, its
    share of the engine's time. So n requests that are always there are answered at a rate of
    n / (own + n * share): the more, the nearer to 1 / share.

    Attributes:
        capacity: Requests that the engine works on at once; others wait for their turn.
        share_s: Seconds of the engine that a request costs, alone or not.
        decision_s: Seconds that a decision takes beside that.
        extraction_s: Seconds that an extraction takes beside that.
        changes_every: One decision of so many is FALSE.
    """

    capacity: int = 256
    share_s: float = 0.01
    decision_s: float = 0.05
    extraction_s: float = 0.6
    changes_every: int = 10


class ScriptedEngine:
    """A ``TextGenerator`` that answers after the delays of a model of service.

    Attributes:
        num_requests: Requests that were answered.
    """

    def __init__(self, service: ServiceModel) -> None:
        self._service = service
        self._places = asyncio.Semaphore(service.capacity)
        self._num_inside = 0
        self.num_requests = 0

    async def generate(self, request: GenerationRequest) -> Generation:
        """Answer one request."""
        service = self._service
        own_s = service.decision_s if request.choices else service.extraction_s
        async with self._places:
            self._num_inside += 1
            try:
                await asyncio.sleep(own_s + self._num_inside * service.share_s)
            finally:
                self._num_inside -= 1
        self.num_requests += 1
        text = scripted_answer(request, service)
        return Generation(text, len(request.content) // _TOKEN_CHARACTERS, 0, len(text.split()))

    async def close(self) -> None:
        """Have nothing to let go of."""


def scripted_answer(request: GenerationRequest, service: ServiceModel) -> str:
    """Return the answer to a request, which its text alone decides."""
    if not request.choices:
        return _ANSWER
    number = zlib.crc32(request.content.encode())
    return request.choices[number % service.changes_every == 0]
