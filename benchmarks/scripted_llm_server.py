"""A server of OpenAI's chat completions in a process of its own; its answers derive from the text.

It answers at once: what a run costs beside the language model is seen best so.
"""

import http.client
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, ClassVar

from typing_extensions import override

from scp_ray.chop.prompting import CHANGES, CONTINUES

HOST = "127.0.0.1"
_COUNT_PATH = "/count"
_SPAN_CHUNKS = 4  # a span has so many chunks on average
_NUM_NOUNS, _NUM_MODELS = 50, 500


class LlmServer:
    """The running server.

    Args:
        port: Where it listens on the loopback interface.
    """

    def __init__(self, port: int) -> None:
        self._port = port

    @property
    def url(self) -> str:
        """Address of the API, for ``openai.base_url``."""
        return f"http://{HOST}:{self._port}/v1"

    def num_calls(self) -> int:
        """Return the requests answered so far."""
        connection = http.client.HTTPConnection(HOST, self._port)
        try:
            connection.request("GET", _COUNT_PATH)
            return int(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def scripted_llm_server() -> Iterator[LlmServer]:
    """Run the server for as long as the block lasts."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield LlmServer(here.recv())
    finally:
        process.terminate()
        process.join()
        here.close()
        there.close()


def answer(content: str, *, is_decision: bool) -> str:
    """Answer a request of CHOP; the same passages always get the same answer.

    Args:
        content: What the prompt says after its instructions.
        is_decision: Whether a continuity decision is asked for; a CNM otherwise.
    """
    drawn = zlib.crc32(content.encode())
    if is_decision:
        return CHANGES if drawn % _SPAN_CHUNKS == 0 else CONTINUES
    noun, model = f"kettle part {drawn % _NUM_NOUNS}", f"Orbis K-{drawn % _NUM_MODELS}"
    return json.dumps({"category": "kettle", "nouns": [noun], "model": model})


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """Return the chat completion for the body of a request; tokens are counted as words."""
    instructions, content = (message["content"] for message in body["messages"])
    text = answer(content, is_decision="response_format" not in body)
    usage = {
        "prompt_tokens": len(instructions.split()) + len(content.split()),
        "completion_tokens": len(text.split()),
    }
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet
    num_calls: ClassVar[int] = 0
    turn: ClassVar[threading.Lock] = threading.Lock()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.turn:
            _Handler.num_calls += 1
        self._reply(json.dumps(completion(body)))

    def do_GET(self) -> None:
        self._reply(str(self.num_calls))

    def _reply(self, text: str) -> None:
        data = text.encode()
        self.send_response(http.client.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 128


def _serve(pipe: Connection) -> None:
    server = _Server((HOST, 0), _Handler)
    pipe.send(server.server_port)
    server.serve_forever()
