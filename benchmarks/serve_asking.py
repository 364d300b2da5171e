"""Single questions over HTTP, and what their answers say."""

import http.client
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Self

_TIMEOUT_S = 60.0


class Asker:
    """Asks one question after another over one connection, for as long as a block lasts.

    Args:
        port: Port of the service on the loopback interface.
    """

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a question.

        Raises:
            RuntimeError: If its status is not 200.
        """
        return self.call("POST", "/v1/query", body)

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON of any call.

        Raises:
            RuntimeError: If its status is not 200.
        """
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        text = response.read().decode()
        if response.status != http.client.OK:
            message = f"{method} {path}: status {response.status}: {text[:500]}"
            raise RuntimeError(message)
        reply: dict[str, Any] = json.loads(text)
        return reply


def ids_of(reply: Mapping[str, Any]) -> list[str]:
    """Return the names of the chunks in an answer, as ``serve_corpus.chunk_id`` gives them."""
    return [f"{one['doc_id']}#{one['chunk_index']}" for one in reply["results"]]


def recall(found: Sequence[Sequence[str]], wanted: Sequence[AbstractSet[str]]) -> float:
    """Return the mean share of the wanted chunks that were found, over all questions."""
    shares = [
        len(those & set(these)) / len(those) for these, those in zip(found, wanted, strict=True)
    ]
    return sum(shares) / len(shares)
