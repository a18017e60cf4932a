"""A launcher for tests of Ctrl-C: like mpirun it starts a process in a new session; then it sends
SIGINT to its parent."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from suite.launch.process import GATE

SCRIPT = """#!/bin/sh
test "$1" = --version && echo HYDRA && exit
setsid sh -c 'echo $$ > {started}.new; mv {started}.new {started}; exec sleep 60' &
until test -e {started}; do sleep 0.05; done
kill -INT $PPID
wait
"""


@dataclass(frozen=True)
class InterruptedLauncher:
    """``interpreter`` has the launcher beside it, as a framework's environment does; so has a PATH
    with its folder."""

    interpreter: Path
    started: Path

    def assert_nothing_runs(self) -> None:
        """The process in the new session has ended, too."""
        try:
            process = psutil.Process(int(self.started.read_text()))
        except psutil.NoSuchProcess:
            return
        assert (
            not psutil.wait_procs([process], timeout=120)[1]
            or process.status() == psutil.STATUS_ZOMBIE
        )


@contextmanager
def with_ctrl_c() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, even where a shell started this process in the background
    and so ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def interrupted_launcher(folder: Path) -> InterruptedLauncher:
    """Make one in ``folder``, with programs in the same folder that do nothing."""
    folder.mkdir()
    started = folder / "started"
    for name, text in (("mpirun", SCRIPT.format(started=started)), ("hpcc", "#!/bin/sh\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return InterruptedLauncher(folder / "python", started)


def waits_at_its_gate(pid: int) -> bool:
    """The process is the shell of suite.launch.process, and reads from its pipe."""
    process = psutil.Process(pid)
    return GATE[2] in process.cmdline() and process.status() == psutil.STATUS_SLEEPING
