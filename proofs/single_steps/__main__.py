"""Counts the instructions of a training step one by one, to compare with valgrind's count: `make
prove single-steps`.

`python -m proofs.single_steps FRAMEWORK` steps another one than PyTorch. `suite cachegrind` has
valgrind's count. The training is that of `suite cachegrind`, LeNet-5 on the digits with one thread,
without valgrind and with the same instructions to choose from. ptrace(2) stops every thread after
each instruction; one with a repeat prefix, which stops after every repetition, counts once. A step
takes minutes to an hour. x86-64 only.
"""

import argparse
import ctypes
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proofs.figures import hand_over
from reference_impls.turns.messages import CONTINUE, PAUSE
from suite.catalog.divisions import Division
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.execution.request import Accelerator, RunOptions
from suite.execution.resolve import resolve_options
from suite.extensions.concurrent.measuring.experiment import Side, start_training
from suite.extensions.counted_steps.measuring.counting import AVX2
from suite.launch.environments import find_environment

PEEKUSER, SINGLESTEP, SEIZE, INTERRUPT = 3, 9, 0x4206, 0x4207
TRACE_CLONE = 8
PROGRAM_COUNTER = 16 * 8  # rip in struct user (sys/user.h)
WALL = 0x40000000  # waitpid(2): threads too
TICK_S = 0.1


def main() -> None:
    """Print the number of instructions of one step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("framework", nargs="?", default="pytorch")
    framework = load_framework(parser.parse_args().framework)
    options = RunOptions(
        Division.OPEN,
        "auto",
        "lenet",
        framework.name,
        data="digits",
        seed=1,
        threads=1,
        workers=0,
        accelerator=Accelerator.CPU,
    )
    side = Side(
        resolve_options(options).training,
        f"{framework.module}.implementation",
        find_environment(framework).interpreter,
    )
    began_s = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        start_training(side, Path(folder, "training"), AVX2) as training,
    ):
        training.command(PAUSE)
        training.wait_for_answer()
        stepped = SteppedProcess(training.pid)
        training.command(f"{CONTINUE}\n{PAUSE}")
        stepped.run_until(lambda: bool(select.select([training], [], [], 0)[0]))
        training.send_signal(signal.SIGKILL)
    took_s = time.monotonic() - began_s
    sys.stdout.write(
        f"{framework.title}: {stepped.instructions:,} instructions in a step ({stepped.stops:,}"
        f" stops, {took_s:.0f} s)\n"
    )
    hand_over(
        framework=framework.title, instructions_of_a_step=stepped.instructions, stops=stepped.stops
    )


class SteppedProcess:
    """All threads of a process, which execute single steps. Use it in the main thread, and kill the
    process after it."""

    def __init__(self, pid: int) -> None:
        self._ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        self._ptrace.restype = ctypes.c_long
        self._ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self._places: dict[int, int] = {}
        self.stops = self.instructions = 0
        for thread in [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]:
            self._call(SEIZE, thread, TRACE_CLONE)
            self._call(INTERRUPT, thread)

    def run_until(self, is_finished: Callable[[], bool]) -> None:
        """Execute single steps until ``is_finished`` and every thread waits for something."""
        with suppress(_Finished), _asking(is_finished, lambda: self.stops):
            while True:
                self._step(*os.waitpid(-1, WALL))

    def _step(self, thread: int, status: int) -> None:
        """A thread has stopped: count its instruction, and let it execute the next one."""
        self.stops += 1
        if not os.WIFSTOPPED(status):
            raise SuiteError(
                f"The training ended while its instructions were counted (status {status})."
            )
        place = self._ptrace(PEEKUSER, thread, PROGRAM_COUNTER, None)
        self.instructions += self._places.get(thread) != place
        self._places[thread] = place
        number = os.WSTOPSIG(status)
        self._ptrace(
            SINGLESTEP, thread, None, None if number == signal.SIGTRAP or status >> 16 else number
        )

    def _call(self, request: int, thread: int, data: int = 0) -> None:
        if self._ptrace(request, thread, None, data) < 0:
            raise SuiteError(
                f"The training cannot be traced: {os.strerror(ctypes.get_errno())}; run it as root."
            )


class _Finished(Exception):
    """Ends the wait for the next stop."""


@contextmanager
def _asking(is_finished: Callable[[], bool], stops: Callable[[], int]) -> Iterator[None]:
    """Ask every tenth of a second; raises _Finished in the body once it is finished and no stop
    came since."""
    last = stops()

    def ask(number: int, frame: object) -> None:
        nonlocal last
        if is_finished() and stops() == last:
            raise _Finished
        last = stops()

    previous = signal.signal(signal.SIGALRM, ask)
    signal.setitimer(signal.ITIMER_REAL, TICK_S, TICK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


if __name__ == "__main__":
    main()
