"""A language model in this machine, through an engine of vLLM.

The engine batches whatever requests wait, keeps the keys and values of the instructions, which all
requests share, in its prefix cache, and holds the answers to their choices or their schema.
"""

import asyncio
from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING, Any

from scp_ray.annotators.chat_prompt import ChatPrompt
from scp_ray.annotators.engine_guard import EngineGuard
from scp_ray.annotators.vllm_start import start_engine
from scp_ray.errors import ConfigError, EngineDeadError, GenerationError, RequestRefusedError
from scp_ray.protocols import Generation, GenerationRequest
from scp_ray.sections import LlmConfig, VllmConfig

if TYPE_CHECKING:
    from vllm.outputs import RequestOutput

_SHUTDOWN_S = 30.0  # after that its processes are killed


class VllmGenerator:
    """A ``TextGenerator`` over an engine of vLLM, which belongs to it."""

    def __init__(self, llm: LlmConfig, engine: VllmConfig) -> None:
        """Start the engine; called on the event loop of the calls that follow.

        Raises:
            ConfigError: If vLLM is not installed, or the model is not there or not what the
                settings say.
            GenerationError: If the engine does not start.
        """
        self._timeout_s = llm.timeout_s
        self._max_model_len = engine.max_model_len
        # Waiting for a turn in the engine is not counted as waiting for an answer. Twice as many
        # as it works on at once, so that it never waits for the next one.
        self._free = asyncio.Semaphore(2 * engine.max_num_seqs)
        self._guard = EngineGuard()
        with self._guard:
            self._engine = start_engine(llm, engine)
        try:
            self._prompt = ChatPrompt(_load_tokenizer(llm))
        except (OSError, ValueError) as error:
            self._end()
            message = f"llm.model {llm.model} has no tokenizer that loads: {error}"
            raise ConfigError(message) from error
        self._numbers = count()

    async def generate(self, request: GenerationRequest) -> Generation:
        """Answer one request.

        Raises:
            RequestRefusedError: If prompt and answer do not fit into ``vllm.max_model_len``.
            EngineDeadError: If a process of the engine has ended.
            GenerationError: If it is not answered within ``llm.timeout_s``.
        """
        from vllm.exceptions import VLLMClientError, VLLMError

        prompt = self._prompt.token_ids(request.instructions, request.content)
        if len(prompt) + request.max_tokens > self._max_model_len:
            message = (
                f"a prompt of {len(prompt)} tokens and {request.max_tokens} tokens of answer do "
                f"not fit into vllm.max_model_len ({self._max_model_len})"
            )
            raise RequestRefusedError(message)
        try:
            async with self._free, asyncio.timeout(self._timeout_s):
                output = await self._finished(prompt, request)
        except TimeoutError as error:
            message = (
                f"the engine did not answer within llm.timeout_s ({self._timeout_s:g} s); "
                "a slow one needs more, or a smaller vllm.max_num_seqs"
            )
            raise GenerationError(message) from error
        except VLLMClientError as error:
            message = f"the engine refused a request: {error}"
            raise RequestRefusedError(message) from error
        except VLLMError as error:
            raise self._failure(error) from error
        return _generation(request, output)

    async def close(self) -> None:
        """End the engine and its processes; no call may follow."""
        self._end()
        await asyncio.sleep(0)  # its tasks see that they are cancelled

    def _end(self) -> None:
        self._engine.shutdown(timeout=_SHUTDOWN_S)
        del self._engine  # it would try to shut down again when the process ends, and complain
        self._guard.release()

    async def _finished(self, prompt: list[int], request: GenerationRequest) -> "RequestOutput":
        from vllm.inputs import tokens_input

        name = str(next(self._numbers))
        outputs = self._engine.generate(tokens_input(prompt), _sampling(request), name)
        async with aclosing(outputs):  # an end of any kind takes the request out of the engine
            async for output in outputs:
                if output.finished:
                    return output
        message = "the engine dropped a request"
        raise GenerationError(message)

    def _failure(self, error: Exception) -> GenerationError:
        if self._engine.errored:
            message = "the engine of vLLM has ended; its log has the reason"
            return EngineDeadError(message)
        message = f"the engine failed at a request: {error}"
        return GenerationError(message)


def needed_tokens(request: GenerationRequest) -> int:
    """Return how many tokens of an answer are enough to know all of it.

    One, where the first characters of the choices differ: an engine that holds to the choices
    has chosen with it.
    """
    first_characters = {choice[:1] for choice in request.choices}
    is_told_by_first = bool(first_characters) and len(first_characters) == len(request.choices)
    return 1 if is_told_by_first else request.max_tokens


def complete_choice(text: str, choices: tuple[str, ...]) -> str:
    """Return the only choice that begins with ``text``, or ``text`` if there is no such."""
    meant = [choice for choice in choices if text and choice.startswith(text)]
    return meant[0] if len(meant) == 1 else text


def _sampling(request: GenerationRequest) -> Any:  # noqa: ANN401 - a type of vLLM
    from vllm.sampling_params import RequestOutputKind, SamplingParams, StructuredOutputsParams

    structure = None
    if request.choices:
        structure = StructuredOutputsParams(choice=list(request.choices))
    elif request.json_schema is not None:
        structure = StructuredOutputsParams(json=dict(request.json_schema))
    return SamplingParams(
        temperature=0.0,
        max_tokens=needed_tokens(request),
        structured_outputs=structure,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _generation(request: GenerationRequest, output: "RequestOutput") -> Generation:
    answer = output.outputs[0]
    return Generation(
        complete_choice(answer.text, request.choices),
        prompt_tokens=len(output.prompt_token_ids or ()),
        cached_prompt_tokens=output.num_cached_tokens or 0,
        output_tokens=len(answer.token_ids),
    )


def _load_tokenizer(llm: LlmConfig) -> Any:  # noqa: ANN401 - a type of transformers
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(llm.model, revision=llm.revision)
