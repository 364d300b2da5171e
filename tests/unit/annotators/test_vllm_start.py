"""What is told to vLLM, and what is made of its log when it does not start."""

from scp_ray.annotators.vllm_start import engine_arguments, root_cause
from scp_ray.sections import LlmConfig, VllmConfig

LOG = """vllm ERROR WorkerProc failed to start.
Traceback (most recent call last):
  File "worker.py", line 12, in init_device
    raise ValueError(message)
ValueError: Available memory on node 0 (2.1/21.4 GiB) on startup is less than desired.
vllm ERROR EngineCore failed to start.
Traceback (most recent call last):
  File "core.py", line 34, in __init__
Exception: WorkerProc initialization failed due to an exception in a background process.
"""


def test_the_first_error_of_the_log_is_the_cause() -> None:
    cause = "ValueError: Available memory on node 0 (2.1/21.4 GiB) on startup is less than desired."

    assert root_cause(LOG) == cause


def test_an_error_of_a_library_is_a_cause_too() -> None:
    log = "Traceback:\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"

    assert root_cause(log) == "OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"


def test_a_long_cause_is_cut() -> None:
    assert len(root_cause("ValueError: " + "x" * 10_000)) == 500


def test_a_log_that_names_no_cause_gives_none() -> None:
    assert root_cause("vllm ERROR something happened\n") == ""


def test_the_engine_is_told_what_the_settings_say() -> None:
    llm = LlmConfig(model="folder", revision="r1")
    engine = VllmConfig(tensor_parallel_size=2, max_model_len=1024, quantization="fp8")

    told = engine_arguments(llm, engine)

    assert told["model"] == "folder"
    assert told["revision"] == "r1"
    assert (told["tensor_parallel_size"], told["distributed_executor_backend"]) == (2, "mp")
    assert (told["max_model_len"], told["quantization"]) == (1024, "fp8")
