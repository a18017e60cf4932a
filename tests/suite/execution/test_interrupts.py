"""Signals interrupt a command once, and those that come while a process is started reach their
handler."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from suite.execution.interrupts import (
    ENDING_S,
    INTERRUPTS,
    Interrupting,
    cause_of,
    hold_back,
    interrupts_deferred,
)
from tests.conftest import interruptible
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
    with with_ctrl_c(), interrupts_deferred() as deliver:
        # with it, Python forks and calls what is registered
        process = subprocess.Popen([sys.executable, "-c", ""], preexec_fn=os.setsid)
        with pytest.raises(KeyboardInterrupt):
            deliver()
        assert process.wait() == 0


@pytest.mark.usefixtures("_ctrl_c_during_a_fork")
def test_ctrl_c_interrupts_at_the_latest_at_the_end() -> None:
    with with_ctrl_c(), pytest.raises(KeyboardInterrupt), interrupts_deferred():
        subprocess.run([sys.executable, "-c", ""], preexec_fn=os.setsid, check=True)


def test_afterwards_signals_are_handled_as_before() -> None:
    with with_ctrl_c():
        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        with interrupts_deferred() as deliver:
            assert signal.getsignal(signal.SIGINT) is not before[0]
            deliver()
            assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_signal_that_follows_an_interrupt_is_ignored_while_the_command_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handler, now_s = Interrupting(), [100.0]
    monkeypatch.setattr("suite.execution.interrupts.time.monotonic", lambda: now_s[0])
    with pytest.raises(KeyboardInterrupt):
        handler(signal.SIGINT, None)
    now_s[0] += ENDING_S / 2
    handler(signal.SIGINT, None)
    now_s[0] += ENDING_S / 2  # what ends it hangs
    with pytest.raises(KeyboardInterrupt):
        handler(signal.SIGTERM, None)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGINT, "interrupted by the user"),
        (signal.SIGTERM, "interrupted by SIGTERM (kill, systemd or a job scheduler)"),
        (signal.SIGHUP, "interrupted because its terminal or SSH connection was closed"),
    ],
)
def test_an_interrupt_says_what_it_came_from(number: signal.Signals, said: str) -> None:
    with pytest.raises(KeyboardInterrupt) as interrupt:
        Interrupting()(number, None)
    assert (cause_of(interrupt.value), str(interrupt.value)) == (said, "")
    assert cause_of(KeyboardInterrupt()) == "interrupted by the user"


@pytest.mark.parametrize("number", INTERRUPTS)
def test_the_first_interrupt_is_held_back_where_that_is_wanted_and_the_second_is_not(
    number: signal.Signals,
) -> None:
    before, notices = signal.signal(number, Interrupting()), []
    try:
        with (
            pytest.raises(KeyboardInterrupt),
            hold_back(lambda: True, lambda: notices.append(number)) as held,
        ):
            signal.raise_signal(number)
            assert held.happened and not held.repeated
            signal.raise_signal(number)
        assert held.repeated and notices == [number]
    finally:
        signal.signal(number, before)


SHOWS = """
import signal
from suite.execution.interrupts import interrupt_at_signals
interrupt_at_signals()
print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)
"""


def test_a_command_that_was_started_by_nohup_outlives_its_terminal() -> None:
    command = [sys.executable, "-c", SHOWS]
    assert (
        subprocess.run(command, capture_output=True, text=True, preexec_fn=interruptible).stdout
        == "False\n"
    )
    ignored = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert ignored.stdout == "True\n"


def test_ctrl_c_while_the_command_line_is_imported_is_one_sentence(tmp_path: Path) -> None:
    """On a board that takes seconds."""
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from suite.cli.start import main;"
        " main()"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=interruptible
    )
    assert (answer.returncode, answer.stderr) == (2, "error: Interrupted.\n")


def test_signals_while_python_exits_change_nothing_and_end_a_wait_for_threads() -> None:
    script = """
import os, signal, threading
from suite.execution.interrupts import exit_at_signals
exit_at_signals(0)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()  # Python waits for it as it exits
threading.Thread(target=threading.Event().wait).start()  # and for this one for ever
"""  # noqa: E501
    assert (
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            preexec_fn=interruptible,
            timeout=60,
        ).returncode
        == 0
    )
