"""Signals end a run in order."""

import signal

import pytest

from scp_ray.errors import RunInterruptedError
from scp_ray.pipeline.interrupt import interruptible, shielded


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_becomes_an_error_and_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(RunInterruptedError, match=f"stopped by {number.name}"), interruptible():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_second_signal_acts_as_before() -> None:
    def own_handler(_number: int, _frame: object) -> None:
        message = "second"
        raise TimeoutError(message)

    previous = signal.signal(signal.SIGTERM, own_handler)
    try:
        with interruptible():
            with pytest.raises(RunInterruptedError):
                signal.raise_signal(signal.SIGTERM)
            with pytest.raises(TimeoutError):
                signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, previous)


def test_swallowed_error_comes_again_at_the_next_check() -> None:
    with interruptible() as stop:
        with pytest.raises(RunInterruptedError):
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(RunInterruptedError, match="stopped by SIGTERM"):
            stop.check()


def test_check_without_a_signal_passes() -> None:
    with interruptible() as stop:
        stop.check()


def test_shield_lets_a_commit_finish() -> None:
    reached: list[str] = []
    with interruptible(), shielded():
        signal.raise_signal(signal.SIGTERM)
        reached.append("after the signal")
    assert reached == ["after the signal"]


def test_shield_without_a_signal_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with shielded():
        pass
    assert signal.getsignal(signal.SIGTERM) is before
