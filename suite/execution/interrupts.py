"""Ctrl-C and SIGTERM at the two ends of a run: none is lost while its process starts, and the first is held back while it is closed."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass
class HeldBack:
    """Whether an interrupt was held back, and whether it was repeated."""

    happened: bool = False
    repeated: bool = False


@contextmanager
def hold_back(is_wanted: Callable[[], bool], notice: Callable[[], None]) -> Iterator[HeldBack]:
    """Inside, the first SIGINT or SIGTERM that comes while ``is_wanted`` calls ``notice`` instead of raising KeyboardInterrupt.

    Every other one raises it. Signals that the process handles otherwise, and those of another thread than the main one, are left alone.
    """
    held = HeldBack()

    def handle(number: int, frame: FrameType | None) -> None:
        held.repeated = held.happened
        if held.repeated or not is_wanted():
            raise KeyboardInterrupt
        held.happened = True
        with suppress(RuntimeError):  # the signal came while the notice's stream was being written
            notice()

    changed = {number: handler for number, handler in _handlers().items() if handler is signal.default_int_handler}
    for number in changed:
        signal.signal(number, handle)
    try:
        yield held
    finally:
        for number, handler in changed.items():
            signal.signal(number, handler)


@contextmanager
def deferred() -> Iterator[Callable[[], None]]:
    """Inside, SIGINT and SIGTERM wait until the function that is given is called, or until the end.

    For the start of processes and threads: Python prints and forgets what a signal handler raises during a fork (os.register_at_fork).
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
    """What handles SIGINT and SIGTERM; nothing outside the main thread, which alone may change it."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
