"""Signals end a run in order."""

import os
import signal

import pytest

from scp_ray.errors import RunInterruptedError
from scp_ray.pipeline.interrupt import interruptible, shielded


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_becomes_an_error_and_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(RunInterruptedError, match=f"stopped by {number.name}"), interruptible():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_second_signal_acts_as_before() -> None:
    def own_handler(_number: int, _frame: object) -> None:
        message = "second"
        raise TimeoutError(message)

    previous = signal.signal(signal.SIGTERM, own_handler)
    try:
        with interruptible():
            with pytest.raises(RunInterruptedError):
                os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(TimeoutError):
                os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, previous)


def test_shield_holds_a_signal_back_to_its_end() -> None:
    reached = []
    with pytest.raises(RunInterruptedError), interruptible(), shielded():
        os.kill(os.getpid(), signal.SIGTERM)
        reached.append("after the signal")
    assert reached == ["after the signal"]
