"""Signals that come while a process is started reach their handler."""

import os
import signal
import subprocess
import sys

import pytest

from suite.execution.interrupts import deferred
from tests.launchers import with_ctrl_c

signals_itself_as_it_forks = False


def _signal_itself() -> None:
    if signals_itself_as_it_forks:
        signal.raise_signal(signal.SIGINT)


os.register_at_fork(before=_signal_itself)  # cannot be unregistered


@pytest.fixture
def _ctrl_c_during_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "signals_itself_as_it_forks", True)


@pytest.mark.usefixtures("_ctrl_c_during_a_fork")
def test_ctrl_c_during_a_fork_interrupts_when_the_process_has_started() -> None:
    with with_ctrl_c(), deferred() as deliver:
        process = subprocess.Popen([sys.executable, "-c", ""], preexec_fn=os.setsid)  # with it, Python forks and calls what is registered
        with pytest.raises(KeyboardInterrupt):
            deliver()
        assert process.wait() == 0


@pytest.mark.usefixtures("_ctrl_c_during_a_fork")
def test_ctrl_c_interrupts_at_the_latest_at_the_end() -> None:
    with with_ctrl_c(), pytest.raises(KeyboardInterrupt), deferred():
        subprocess.run([sys.executable, "-c", ""], preexec_fn=os.setsid, check=True)


def test_afterwards_signals_are_handled_as_before() -> None:
    with with_ctrl_c():
        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        with deferred() as deliver:
            assert signal.getsignal(signal.SIGINT) is not before[0]
            deliver()
            assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
