"""What engines had in work when they died, so that one document cannot end a whole run on Ray.

An engine that dies (``EngineDeadError``; a process that is killed as a whole notes nothing) takes
its actor with it, and all that it had in work is begun again. Where one of those documents is the
cause, it would kill one engine after the other. So a document that was in work at a death is worked
on alone from then on, and one that is the only one in work at a death, and in work at another, is
the cause. What is noted holds for the run.
"""

import json
import logging
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from scp_ray.errors import DocumentError, EngineDeadError, QuarantineReason, StorageError
from scp_ray.protocols import ObjectStore
from scp_ray.storage.keys import engine_deaths_folder

_log = logging.getLogger(__name__)

_DOCUMENTS = TypeAdapter(list[str])
_LEAST_DEATHS = 2  # of engines, before a document is their cause

CAUSE = DocumentError(
    QuarantineReason.ANNOTATION_FAILED,
    "the engine of the language model died on it again and again, at least once while nothing else "
    "was in work; the log of the annotator says how",
)


@dataclass(frozen=True, slots=True)
class Deaths:
    """The deaths of a run, each as the documents in work, by SHA-256 of their content."""

    in_work: tuple[frozenset[str], ...] = ()

    def concern(self, content: str) -> bool:
        """Return whether an engine died while it worked on a document."""
        return any(content in one for one in self.in_work)

    def are_caused_by(self, content: str) -> bool:
        """Return whether a document is what engines died of.

        They died at least twice while it was in work, and at least once while nothing else was.
        """
        concerned = [one for one in self.in_work if content in one]
        return len(concerned) >= _LEAST_DEATHS and any(len(one) == 1 for one in concerned)


class EngineDeaths:
    """Keeps count of them on the store, for all annotators of a run.

    One for each actor, whose threads share it; it ends with its engine.

    Args:
        store: The index.
        run_id: The run.
    """

    def __init__(self, store: ObjectStore, run_id: str) -> None:
        self._store = store
        self._folder = engine_deaths_folder(run_id)
        self._in_work: Counter[str] = Counter()
        self._turn = threading.Condition()
        self._num_waiting = 0  # for a turn alone
        self._is_one_alone = False
        self._is_noted = False

    def read(self) -> Deaths:
        """Return the deaths so far.

        Raises:
            StorageError: If what is there is no list of documents.
        """
        return Deaths(tuple(self._documents(one.key) for one in self._store.list(self._folder)))

    def _documents(self, key: str) -> frozenset[str]:
        try:
            return frozenset(_DOCUMENTS.validate_json(self._store.read(key)))
        except ValidationError as error:
            message = f"{self._store.url}/{key} is no list of documents; delete it"
            raise StorageError(message) from error

    @contextmanager
    def watched(self, contents: Sequence[str], *, alone: bool = False) -> Iterator[None]:
        """Work on documents, and note what this engine has in work if it dies meanwhile.

        Args:
            contents: The documents, at least one, by SHA-256 of their content.
            alone: Wait for all other threads to be done, and let none begin.

        Raises:
            EngineDeadError: As the block raised it.
        """
        self._begin(contents, alone=alone)
        try:
            yield
        except EngineDeadError:
            self._note()
            raise
        finally:
            self._end(contents)

    def _begin(self, contents: Sequence[str], *, alone: bool) -> None:
        with self._turn:
            self._num_waiting += alone
            try:
                self._turn.wait_for(lambda: self._is_free(alone=alone))
            finally:
                self._num_waiting -= alone
            self._is_one_alone = alone
            self._in_work.update(contents)

    def _is_free(self, *, alone: bool) -> bool:
        if alone:
            return not self._in_work
        return not self._is_one_alone and not self._num_waiting

    def _end(self, contents: Sequence[str]) -> None:
        with self._turn:
            self._in_work -= Counter(contents)
            self._is_one_alone = False
            self._turn.notify_all()

    def _note(self) -> None:
        """Note all that is in work, once: each thread is told of the same death.

        Returns when it is written, by whichever thread: the process may end right after.
        """
        with self._turn:
            if self._is_noted:
                return
            self._is_noted = True
            key = f"{self._folder}{secrets.token_hex(8)}.json"
            try:
                self._store.write(key, json.dumps(sorted(self._in_work)).encode())
            except StorageError as error:  # must not take the place of what happened
                _log.warning("what the engine had in work when it died is not noted: %s", error)
