"""CHOP's two ports with answers that are written down beforehand."""

from collections.abc import Mapping

from scp_ray.errors import AnnotationError
from scp_ray.records import Cnm

_SHOWN_CHARACTERS = 60


class ScriptedExtractor:
    """A ``CnmExtractor`` that looks its answers up.

    Attributes:
        calls: The chunks that were asked about, in order, repeated ones too.
    """

    def __init__(self, answers: Mapping[str, Cnm]) -> None:
        self._answers = dict(answers)
        self.calls: list[str] = []

    def extract_cnm(self, chunk: str) -> Cnm:
        """Return the answer that is written down for this chunk.

        Raises:
            AnnotationError: If there is none.
        """
        self.calls.append(chunk)
        if chunk not in self._answers:
            message = f"no signature is scripted for {chunk[:_SHOWN_CHARACTERS]!r}"
            raise AnnotationError(message)
        return self._answers[chunk]


class ScriptedDecider:
    """A ``ContinuityDecider`` that looks its answers up.

    Attributes:
        calls: The pairs that were asked about, in order, repeated ones too.
    """

    def __init__(self, answers: Mapping[tuple[str, str], bool]) -> None:
        self._answers = dict(answers)
        self.calls: list[tuple[str, str]] = []

    def decide_continuity(self, chunk: str, next_chunk: str) -> bool:
        """Return the answer that is written down for this pair.

        Raises:
            AnnotationError: If there is none.
        """
        pair = (chunk, next_chunk)
        self.calls.append(pair)
        if pair not in self._answers:
            shown = " and ".join(repr(text[:_SHOWN_CHARACTERS]) for text in pair)
            message = f"no decision is scripted for {shown}"
            raise AnnotationError(message)
        return self._answers[pair]
