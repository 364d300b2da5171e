"""A language model behind an OpenAI-compatible API: vLLM, a Ray Serve application, a hosted one.

The client library repeats what met 429, 5xx or a broken connection, after what ``Retry-After``
says or a growing pause with jitter. A reply that is not one of the API counts as a broken
connection. Redirects are not followed: neither the key nor a document goes to another host.
"""

import asyncio
from contextvars import ContextVar
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from scp_ray.errors import ConfigError, GenerationError, RequestRefusedError, ScpRayError
from scp_ray.protocols import Generation, GenerationRequest
from scp_ray.sections import LlmConfig, OpenAiConfig

if TYPE_CHECKING:
    import httpx2
    from aiolimiter import AsyncLimiter
    from openai import APIConnectionError, APIStatusError

_MAX_SHOWN_CHARACTERS = 200  # of what a server says
_MAX_TOKENS = 10_000_000  # of one request
_CONNECT_S = 5.0
_S_PER_MINUTE = 60.0
_NO_KEY = "none"  # the library wants one; servers without keys take any

_REFUSED = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
_TRANSIENT = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS}
)
_OPTIONS = frozenset({"response_format", "structured_outputs", "temperature", "max_tokens"})
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})

_KEY_ADVICE = (
    "does not accept the key; see openai.api_key_file, or OPENAI_API_KEY of the environment"
)
_ADVICE: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: _KEY_ADVICE,
    HTTPStatus.FORBIDDEN: _KEY_ADVICE,
    HTTPStatus.NOT_FOUND: "does not have the model; see llm.model and openai.base_url",
}
_ADDRESS_ADVICE = "is not where such an API answers; see openai.base_url"
_OPTION_ADVICE = (
    "does not take requests as annotation needs them; see openai.structured_choice, or take "
    "another server or llm.model"
)

_deadline: ContextVar[asyncio.Timeout] = ContextVar("_deadline")


class OpenAiGenerator:
    """A ``TextGenerator`` over HTTP. Belongs to one event loop."""

    def __init__(
        self, llm: LlmConfig, server: OpenAiConfig, api_key: str | None, num_actors: int
    ) -> None:
        """Prepare; connections are made when they are needed.

        Args:
            llm: The model. ``timeout_s`` bounds a request with its repetitions and the pauses
                between them, waiting for its turn not counted. A try that is silent for half of
                it, where there may be another one, is given up.
            server: The server.
            api_key: Its key, if it wants one.
            num_actors: Generators that share the server's concurrency and rate evenly.

        Raises:
            ConfigError: If the key cannot be one.
        """
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        if api_key and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
            message = (
                "the key of the server has white space or other characters that no key has; see "
                "openai.api_key_file, or OPENAI_API_KEY of the environment"
            )
            raise ConfigError(message)
        self._model = llm.model
        self._url = server.base_url
        self._key = api_key
        self._timeout_s = llm.timeout_s
        self._structured_choice = server.structured_choice
        concurrency = max(1, server.concurrency // num_actors)
        self._free = asyncio.Semaphore(concurrency)
        self._rate = _rate(server.requests_per_minute, num_actors)
        self._client = AsyncOpenAI(
            api_key=api_key or _NO_KEY,
            base_url=server.base_url,
            max_retries=server.max_retries,
            http_client=DefaultAsyncHttpxClient(
                follow_redirects=False,
                timeout=_try_timeout(llm.timeout_s, server.max_retries),
                limits=_connections(concurrency),
                event_hooks={"request": [self._wait_for_turn], "response": [_read_reply]},
            ),
        )

    async def generate(self, request: GenerationRequest) -> Generation:
        """Answer one request.

        Raises:
            RequestRefusedError: If the server does not take it.
            GenerationError: If there is no answer in time, for all tries.
            ConfigError: If the server would answer no request: key, model or address are wrong.
        """
        import httpx2
        from openai import APIConnectionError, APIStatusError

        body = request_body(request, str(self._model), structured_choice=self._structured_choice)
        # Causes are left off: they hold the request, and with it the key.
        async with self._free:
            try:
                async with asyncio.timeout(self._timeout_s) as deadline:
                    _deadline.set(deadline)
                    response = await self._client.post(
                        "/chat/completions", cast_to=httpx2.Response, body=body
                    )
            except TimeoutError:
                message = f"no answer from {self._url} in {self._timeout_s:g} s, all tries together"
                raise GenerationError(message) from None
            except APIStatusError as error:
                raise self._status_error(error) from None
            except APIConnectionError as error:
                message = f"no answer from {self._url}: {self._shown(_cause(error))}"
                raise GenerationError(message) from None
        return read_reply(response.content)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _wait_for_turn(self, _request: "httpx2.Request") -> None:
        """Keep the rate, which repetitions count for, too; the deadline stands still meanwhile."""
        if self._rate is None:
            return
        clock, deadline = asyncio.get_running_loop().time, _deadline.get()
        ends, began = deadline.when(), clock()
        deadline.reschedule(None)
        await self._rate.acquire()
        if ends is not None:
            deadline.reschedule(ends + clock() - began)

    def _status_error(self, error: "APIStatusError") -> ScpRayError:
        status, url = error.status_code, self._url
        said = f"HTTP {status}: {self._shown(_said(error))}"
        if status in _TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return GenerationError(f"no answer from {url}: {said}")
        is_option = error.param in _OPTIONS or error.code in _UNSUPPORTED
        if status in _REFUSED and not is_option:
            return RequestRefusedError(f"{url} refuses a request: {said}")
        advice = _OPTION_ADVICE if is_option else _ADVICE.get(status, _ADDRESS_ADVICE)
        return ConfigError(f"{url} {advice} (llm.model {self._model}; {said})")

    def _shown(self, text: str) -> str:
        hidden = text.replace(self._key, "***") if self._key else text
        return ascii(" ".join(hidden.split()))[1:-1][:_MAX_SHOWN_CHARACTERS]


def request_body(
    request: GenerationRequest, model: str, *, structured_choice: bool
) -> dict[str, Any]:
    """Return the body of a chat completion.

    Args:
        request: The request; its instructions come first, byte for byte.
        model: Name of the model.
        structured_choice: Whether choices are asked for by vLLM's ``structured_outputs``; they
            are left to the instructions otherwise. A schema is asked for without ``strict``,
            which not every server and not every schema knows.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": request.instructions},
            {"role": "user", "content": request.content},
        ],
        "max_tokens": request.max_tokens,
        "temperature": 0,
    }
    if request.choices and structured_choice:
        body["structured_outputs"] = {"choice": list(request.choices)}
    if request.json_schema is not None:
        schema = {"name": "answer", "schema": dict(request.json_schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message


class _PromptTokens(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptTokens | None = None


class _Reply(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None


def read_reply(data: bytes) -> Generation:
    """Read a chat completion; one without text has the empty answer.

    Raises:
        ValidationError: If the bytes are anything else; a ValueError.
    """
    reply = _Reply.model_validate_json(data)
    usage = reply.usage or _Usage()
    details = usage.prompt_tokens_details or _PromptTokens()
    return Generation(
        reply.choices[0].message.content or "",
        prompt_tokens=_believable(usage.prompt_tokens),
        cached_prompt_tokens=_believable(details.cached_tokens),
        output_tokens=_believable(usage.completion_tokens),
    )


def _believable(num_tokens: int | None) -> int:
    """Return a count of tokens, 0 for what cannot be one: it is only statistics."""
    return num_tokens if num_tokens is not None and 0 <= num_tokens <= _MAX_TOKENS else 0


async def _read_reply(response: "httpx2.Response") -> None:
    """Take a reply that is not one of the API for a broken connection, which is tried again."""
    import httpx2

    if not response.is_success:
        return
    data = await response.aread()
    try:
        read_reply(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = f"the reply is not a chat completion: {first['msg']}"
        raise httpx2.RemoteProtocolError(message, request=response.request) from error


def _rate(requests_per_minute: int, num_actors: int) -> "AsyncLimiter | None":
    """Return what lets one request through at a time, evenly spaced; None = all."""
    from aiolimiter import AsyncLimiter

    if not requests_per_minute:
        return None
    return AsyncLimiter(1, _S_PER_MINUTE * num_actors / requests_per_minute)


def _try_timeout(timeout_s: float, max_retries: int) -> "httpx2.Timeout":
    import httpx2

    try_s = timeout_s / 2 if max_retries else timeout_s
    return httpx2.Timeout(try_s, connect=min(try_s, _CONNECT_S))


def _connections(concurrency: int) -> "httpx2.Limits":
    import httpx2

    return httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)


def _said(error: "APIStatusError") -> str:
    if error.response.has_redirect_location:
        return f"redirects to {error.response.headers['Location']}"
    said = error.body.get("message") if isinstance(error.body, dict) else None
    return said if isinstance(said, str) else error.response.text


def _cause(error: "APIConnectionError") -> str:
    cause = error.__cause__
    return f"{type(cause).__name__} {cause}" if cause else error.message
