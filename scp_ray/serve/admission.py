"""How many questions one front answers at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from scp_ray.errors import ConfigError, OverloadedError


class Admission:
    """Counts the questions that are being answered and refuses those beyond the limit.

    For the tasks of one event loop: nothing is awaited between the look and the count.

    Attributes:
        limit: Most questions at once.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._in_flight = 0

    @property
    def in_flight(self) -> int:
        """Questions that are being answered now."""
        return self._in_flight

    @contextmanager
    def hold(self, num_questions: int) -> Iterator[None]:
        """Keep places for questions, all or none, until the block ends, however it ends.

        Raises:
            ConfigError: If there are more questions than places: they would never fit.
            OverloadedError: If they do not fit now.
        """
        if num_questions > self.limit:
            message = f"{num_questions} questions at once; at most {self.limit} are taken"
            raise ConfigError(message)
        if self._in_flight + num_questions > self.limit:
            message = (
                f"{self._in_flight} questions are being answered, {self.limit} at most; "
                f"no room for {num_questions} more"
            )
            raise OverloadedError(message)
        self._in_flight += num_questions
        try:
            yield
        finally:
            self._in_flight -= num_questions
