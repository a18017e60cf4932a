"""Signals that interrupt a command, and those at the two ends of a run: none is lost while its
process starts, and the first is held back while it is closed.
"""

import atexit
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; what `kill`, systemd and job schedulers send; a terminal that was closed, or a lost SSH
connection."""
CAUSES: dict[int, str] = {
    signal.SIGTERM: "interrupted by SIGTERM (kill, systemd or a job scheduler)",
    signal.SIGHUP: "interrupted because its terminal or SSH connection was closed",
}
ENDING_S = 20.0
"""Longer than a run takes to end its processes, stop its meters and write its record."""


class BySignal(KeyboardInterrupt):
    """An interrupt by one of INTERRUPTS."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def cause_of(interrupt: KeyboardInterrupt) -> str:
    """What a record says of it."""
    number = interrupt.number if isinstance(interrupt, BySignal) else signal.SIGINT
    return CAUSES.get(number, "interrupted by the user")


class Interrupting:
    """A handler that raises KeyboardInterrupt, but not again within ``ENDING_S``: the command is
    ending, and would leave its records unwritten."""

    def __init__(self) -> None:
        self._raised_s = -ENDING_S

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise, or ignore the signal."""
        now_s = time.monotonic()
        if now_s - self._raised_s >= ENDING_S:
            self._raised_s = now_s
            raise BySignal(number)


def interrupt_at_signals() -> None:
    """Let every one of INTERRUPTS raise KeyboardInterrupt; one that the process was started to
    ignore stays ignored (`nohup`)."""
    handler = Interrupting()
    for number, before in _handlers().items():
        if before != signal.SIG_IGN and not isinstance(before, Interrupting):
            signal.signal(number, handler)


def exit_at_signals(code: int) -> None:
    """Let each of INTERRUPTS end the process with ``code`` at once: the command has said how it
    ended, and Python waits for threads as it exits."""
    for number in INTERRUPTS:
        signal.signal(number, lambda number, frame: os._exit(code))
    # after the threads; soon Python itself lets signals end the process, with their own exit codes
    atexit.register(_ignore_interrupts)


def _ignore_interrupts() -> None:
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)


@dataclass
class HeldBack:
    """Whether an interrupt was held back, and whether it was repeated."""

    happened: bool = False
    repeated: bool = False


@contextmanager
def hold_back(is_wanted: Callable[[], bool], notice: Callable[[], None]) -> Iterator[HeldBack]:
    """Inside, the first of INTERRUPTS that comes while ``is_wanted`` calls ``notice`` instead of
    raising KeyboardInterrupt.

    Every other one is handled as before. Signals that the process handles otherwise, and those of
    another thread than the main one, are left alone.
    """
    held = HeldBack()
    changed = {
        number: handler
        for number, handler in _handlers().items()
        if handler is signal.default_int_handler or isinstance(handler, Interrupting)
    }

    def handle(number: int, frame: FrameType | None) -> None:
        held.repeated = held.happened
        if held.repeated or not is_wanted():
            changed[number](number, frame)
            return
        held.happened = True
        with suppress(RuntimeError):  # the signal came while the notice's stream was being written
            notice()

    for number in changed:
        signal.signal(number, handle)
    try:
        yield held
    finally:
        for number, handler in changed.items():
            signal.signal(number, handler)


@contextmanager
def interrupts_deferred() -> Iterator[Callable[[], None]]:
    """Inside, INTERRUPTS wait until the function that is given is called, or until the end.

    For the start of processes and threads: Python prints and forgets what a signal handler raises
    during a fork (os.register_at_fork).
    """
    waiting: list[int] = []
    changed = {number: handler for number, handler in _handlers().items() if callable(handler)}
    for number in changed:
        signal.signal(number, lambda number, frame: waiting.append(number))

    def deliver() -> None:
        for number in tuple(changed):
            signal.signal(number, changed.pop(number))
        if waiting:
            signal.raise_signal(waiting.pop())

    try:
        yield deliver
    finally:
        deliver()


def _handlers() -> dict[int, Any]:
    """What handles INTERRUPTS; nothing outside the main thread, which alone may change it."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.getsignal(number) for number in INTERRUPTS}
