"""Ctrl-C and SIGTERM while a run is closed: the first one is held back, so that a run whose training ended is not lost."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType


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

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    changed = {number: handler for number, handler in before.items() if handler is signal.default_int_handler}
    for number in changed:
        signal.signal(number, handle)
    try:
        yield held
    finally:
        for number, handler in changed.items():
            signal.signal(number, handler)
