"""A process that takes turns with the harness, a training or an inference: its two pipes, its
priority and its CPU set."""

import json
import os
import select
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from reference_impls import contract
from reference_impls.turns.messages import READY
from suite.errors import SuiteError
from suite.launch.child_environment import child_environment
from suite.launch.mpirun import last_output_line
from suite.launch.process import output_lines, release_process, start_process, terminate_session

GENERATOR_NICE = -10
"""The generator stands for a camera or a network: the programs that it feeds should not delay
it."""


def set_priority(pid: int, nice: int) -> None:
    """Set a process's priority; raises SuiteError where the user may not."""
    if not -20 <= nice <= 19:
        raise SuiteError(f"{nice} is not a priority; priorities are -20 (highest) to 19 (lowest).")
    try:
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    except PermissionError:
        raise SuiteError(
            f"A priority of {nice} needs root or CAP_SYS_NICE; priorities of 0 to 19 need neither."
        ) from None


@contextmanager
def raised_priority() -> Iterator[int]:
    """This process with a higher priority, where it may have one; gives the priority that it really
    has."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, GENERATOR_NICE)
    try:
        yield os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, before)


START_TIMEOUT_S = 600.0
"""More than a board needs to import a framework from an SD card and to prepare the first
mini-batch."""


@dataclass(frozen=True)
class Program:
    """What to start: a module with the environment's interpreter, its request file, and how it
    shares the machine.

    ``nice`` is the priority (setpriority(2)), ``cpus`` the CPUs that it may use; empty: all of
    them. ``variables`` are set in its environment.
    """

    what: str
    interpreter: Path
    module: str
    implementation: str
    request: Path
    threads: int
    nice: int = 0
    cpus: tuple[int, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def command(self, commands: int, answers: int) -> list[str]:
        """The command line, with the numbers of its ends of the pipes."""
        options = {
            "implementation": self.implementation,
            "request": self.request,
            "commands": commands,
            "answers": answers,
        }
        return [
            str(self.interpreter),
            "-m",
            self.module,
            *(word for name, value in options.items() for word in (f"--{name}", str(value))),
        ]


class ProcessEnded(SuiteError):
    """A process ended before the harness ended it; ``last_line`` is its last output line."""

    def __init__(self, what: str, last_line: str, exit_code: int) -> None:
        super().__init__(f"The {what} ended ({exit_code}): {last_line}")
        self.last_line, self.exit_code = last_line, exit_code


class Child:
    """A started process. Use it as a context: at its end the process and all its descendants are
    gone."""

    def __init__(self, program: Program) -> None:
        self.program, self._rest = program, b""
        self._output = program.request.parent / "output.txt"
        for_child, self._commands = os.pipe()
        self._answers, from_child = os.pipe()
        variables = {
            **child_environment(program.threads),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **program.variables,
        }
        try:
            self._process = start_process(
                program.command(for_child, from_child),
                variables,
                self._output,
                (for_child, from_child),
            )
        finally:
            os.close(for_child)
            os.close(from_child)
        # Before the release: every thread of the program inherits both.
        set_priority(self._process.pid, program.nice)
        if program.cpus:
            os.sched_setaffinity(self._process.pid, program.cpus)
        release_process(self._process)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *reason: object) -> None:
        self.send_signal(signal.SIGCONT)  # a stopped process handles no other signal
        os.close(self._commands)
        os.close(self._answers)
        terminate_session(self._process)

    def wait_until_ready(self) -> int:
        """Wait until the process is ready; returns the number that its answer holds, 0 without
        one."""
        try:
            word, _, number = self.wait_for_answer().partition(" ")
        except BaseException:
            self.__exit__()
            raise
        assert word == READY, word
        return int(number or 0)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def fileno(self) -> int:
        """The answers' descriptor, for select(2)."""
        return self._answers

    def command(self, text: str) -> None:
        """Send a line. Raises ProcessEnded if nobody reads it."""
        try:
            os.write(self._commands, f"{text}\n".encode("ascii"))
        except BrokenPipeError:
            raise self._ended() from None

    def answers(self) -> list[str]:
        """The lines that have come since the last call; never waits. Raises ProcessEnded when the
        process has ended."""
        while select.select([self._answers], [], [], 0)[0]:
            received = os.read(self._answers, 65536)
            if not received:
                raise self._ended()
            self._rest += received
        *lines, self._rest = self._rest.split(b"\n")
        return [line.decode("ascii", "replace") for line in lines]

    def wait_for_answer(self) -> str:
        """The next line, the only one that has come. Raises ProcessEnded when the process ends,
        SuiteError after ten minutes."""
        until_s = time.monotonic() + START_TIMEOUT_S
        while not (lines := self.answers()):
            select.select([self._answers], [], [], max(0.0, until_s - time.monotonic()))
            if time.monotonic() > until_s:
                raise SuiteError(
                    f"The {self.program.what} was not ready within {START_TIMEOUT_S:g} s; its"
                    f" output is in {self._output}."
                )
        (line,) = lines
        return line

    def send_signal(self, number: int) -> None:
        """Send a signal to the process and its descendants of the same group."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _ended(self) -> ProcessEnded:
        exit_code = self._process.wait()
        said = last_output_line(output_lines(self._output)) or "no output"
        return ProcessEnded(self.program.what, said.removeprefix("error: "), exit_code)


def usable_cpus(cpus: Sequence[int]) -> tuple[int, ...]:
    """The CPU set; raises SuiteError for a CPU that this process may not use."""
    allowed = os.sched_getaffinity(0)
    if foreign := sorted(set(cpus) - allowed):
        raise SuiteError(
            f"CPU {foreign[0]} cannot be used here; usable are"
            f" {', '.join(map(str, sorted(allowed)))}."
        )
    return tuple(sorted(set(cpus)))


EPOCHS = 1_000_000
"""More than any measurement trains: the harness ends the training."""

NO_VARIABLES: Mapping[str, str] = {}


@dataclass(frozen=True)
class Side:
    """A training, or an inference: its workload's resolved request, the module with ``build``, the
    interpreter, and how it shares the machine."""

    request: contract.Request
    implementation: str
    interpreter: Path
    nice: int = 0
    cpus: tuple[int, ...] = ()

    def program(self, what: str, module: str, request: contract.Request, folder: Path) -> Program:
        """The program of ``module``, its request written to the new ``folder``."""
        folder.mkdir(parents=True)
        path = folder.absolute() / contract.REQUEST_NAME  # it runs in the repository's root
        changed = request._replace(output_directory=str(path.parent))
        path.write_text(json.dumps(contract.request_to_dict(changed)), encoding="utf-8")
        return Program(
            what,
            self.interpreter,
            module,
            self.implementation,
            path,
            request.threads,
            self.nice,
            self.cpus,
        )


def start_training(side: Side, folder: Path, variables: Mapping[str, str] = NO_VARIABLES) -> Child:
    """A training in ``folder``, after its first steps; it goes on until the child is left."""
    request = side.request._replace(
        epochs=EPOCHS,
        eval_every_epochs=EPOCHS,
        target_accuracy=None,
        steps=None,
        start=None,  # its steps have no training state: they take as long with the seed's weights
        old_task=None,
    )
    program = side.program("training", "reference_impls.turns.training", request, folder)
    child = Child(replace(program, variables=variables))
    child.wait_until_ready()
    return child
