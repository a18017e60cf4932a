"""Counts the instructions of a training step with valgrind's cachegrind, where the kernel offers no
hardware counters.

The implementation is the one of `suite run`; it trains without evaluation. Counting does not depend
on time: other programs do not change it.
"""

import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from reference_impls import contract
from suite.bundle.layout import MANIFEST
from suite.catalog.commands import train_command, working_folder
from suite.catalog.frameworks import Framework, load_framework
from suite.errors import SuiteError
from suite.extensions.counted_steps.measuring.timing import WINDOW_S, WINDOWS, time_steps
from suite.extensions.counted_steps.record import (
    COUNTED_STEPS,
    SCHEMA,
    SOURCE,
    Caches,
    CountedSteps,
    Counts,
    Process,
    TimedSteps,
    read_counted_steps,
)
from suite.files.durable import refuse_output_folder
from suite.files.json_file import write_json
from suite.launch.child_environment import child_environment
from suite.launch.environments import Environment, find_environment
from suite.launch.process import release_process, start_process, terminate_session, wait_for_exit
from suite.launch.turns import Side
from suite.machine.system import cpu_model

PROCESSORS = {
    "cortex-a72": Caches(
        "Cortex-A72 with 1 MB of second-level cache, as in a Raspberry Pi 4",
        (48 * 1024, 3, 64),
        (32 * 1024, 2, 64),
        (2**20, 16, 64),
    ),
    "cortex-a53": Caches(
        "Cortex-A53 with 512 KB of second-level cache, as in a Raspberry Pi 3",
        (32 * 1024, 2, 64),
        (32 * 1024, 4, 64),
        (2**19, 16, 64),
    ),
}
"""Simulated caches by processor: Arm's technical reference manuals (first level), and the boards'
data sheets (second level)."""

AVX2 = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}
"""valgrind shows programs a processor with AVX2, no AVX-512 and no VNNI. Libraries that choose
their instructions are told to choose these without it, too; TensorFlow does not use oneDNN on such
a processor. On Arm, whose processor valgrind hides, OpenBLAS takes generic kernels in both."""

WARM_UP = 5
"""Steps that both processes take: the first ones allocate memory and choose algorithms."""

OUTPUT, COUNTS = "output.txt", "cachegrind.out"
Report = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What is counted: the resolved request of each framework, ``steps`` mini-batches of it, and
    the simulated processor's name."""

    requests: tuple[contract.Request, ...]
    steps: int
    processor: str
    output: Path


def refuse(asked: Asked) -> None:
    """Raise SuiteError for what cannot be counted here."""
    if shutil.which("valgrind") is None:
        raise SuiteError("valgrind is not installed here", "apt-get install valgrind")
    if asked.processor not in PROCESSORS:
        raise SuiteError(
            f"The cache sizes are unknown for {asked.processor!r}",
            f"choose from {', '.join(PROCESSORS)}",
        )
    refuse_output_folder(asked.output)
    for request in asked.requests:
        whole = -(-request.data.train_samples // request.global_batch_size)
        if WARM_UP + asked.steps >= whole:
            most = whole - WARM_UP - 1
            raise SuiteError(
                f"{asked.steps} steps after {WARM_UP} warm-up steps do not fit into an epoch of"
                f" {whole} steps",
                f"use --steps {most} or fewer" if most > 0 else "use a smaller --batch-size",
            )


def count(asked: Asked, report: Report) -> CountedSteps:
    """Count, write the record into ``asked.output``, and read it. Raises SuiteError for what cannot
    be counted."""
    refuse(asked)
    frameworks = [load_framework(request.framework) for request in asked.requests]
    found = [*zip(asked.requests, frameworks, map(find_environment, frameworks), strict=True)]
    timed = [
        window
        for request, framework, environment in found
        for window in _timed(request, framework, environment, report)
    ]
    processes = [
        process
        for request, framework, environment in found
        for process in _count_framework(asked, request, framework, environment, report)
    ]
    first = asked.requests[0]
    record = CountedSteps(
        schema=SCHEMA,
        title=f"Counts of a training step: {first.workload} on {first.data.name}",
        source=SOURCE,
        valgrind=_version(),
        caches=PROCESSORS[asked.processor],
        cpu_model=cpu_model(),
        workload=first.workload,
        data=first.data.name,
        train_samples=first.data.train_samples,
        batch_size=first.global_batch_size,
        threads=first.threads,
        seed=first.seed,
        processes=tuple(processes),
        timed=tuple(timed),
        architecture=platform.machine(),
    )
    asked.output.mkdir(parents=True, exist_ok=True)
    COUNTED_STEPS.write(asked.output, asdict(record))
    try:
        return read_counted_steps(asked.output)
    except SuiteError:
        for name in ("counted_steps.json", MANIFEST):
            (asked.output / name).unlink()
        raise


def _timed(
    request: contract.Request, framework: Framework, environment: Environment, report: Report
) -> tuple[TimedSteps, ...]:
    report(f"{framework.title}: timing steps without valgrind, {WINDOWS} windows of {WINDOW_S:g} s")
    side = Side(request, f"{framework.module}.implementation", environment.interpreter)
    return time_steps(side, framework.name, AVX2)


def _count_framework(
    asked: Asked,
    request: contract.Request,
    framework: Framework,
    environment: Environment,
    report: Report,
) -> tuple[Process, Process]:
    """Two processes, beside each other: one warms up, the other takes ``asked.steps`` steps
    more."""
    numbers = (WARM_UP, WARM_UP + asked.steps)
    report(
        f"{framework.title}: two trainings under cachegrind, of {numbers[0]} and {numbers[1]} steps"
        " (slow)"
    )
    version = next(
        (environment.packages[name] for name in framework.packages if name in environment.packages),
        None,
    )
    with tempfile.TemporaryDirectory(prefix="counted-") as scratch, ExitStack() as stack:
        started = []
        for steps in numbers:
            folder = Path(scratch) / str(steps)
            folder.mkdir()
            own = request._replace(steps=steps, target_accuracy=None, output_directory=str(folder))
            write_json(folder / contract.REQUEST_NAME, contract.request_to_dict(own))
            process = start_process(
                _command(asked, framework, environment, folder),
                _variables(own),
                folder / OUTPUT,
                folder=working_folder(framework),
            )
            stack.callback(terminate_session, process)
            release_process(process)
            started.append((steps, folder, process))
        fewer, more = (
            Process(framework.name, version, steps, _finished(framework, folder, process))
            for steps, folder, process in started
        )
        return fewer, more


def _variables(request: contract.Request) -> dict[str, str]:
    return {**child_environment(request.threads), **AVX2, "TF_CPP_MIN_LOG_LEVEL": "3"}


def _command(
    asked: Asked, framework: Framework, environment: Environment, folder: Path
) -> list[str]:
    caches = PROCESSORS[asked.processor]
    sizes = {"I1": caches.l1i, "D1": caches.l1d, "LL": caches.last}
    simulated = [f"--{name}={','.join(map(str, values))}" for name, values in sizes.items()]
    options = [
        "--tool=cachegrind",
        "--cache-sim=yes",
        "--branch-sim=yes",
        *simulated,
        f"--cachegrind-out-file={folder / COUNTS}",
    ]
    return [
        "valgrind",
        *options,
        *train_command(framework, environment.interpreter),
        "--request",
        str(folder / contract.REQUEST_NAME),
    ]


def _finished(framework: Framework, folder: Path, process: "subprocess.Popen[bytes]") -> Counts:
    ended = wait_for_exit(process, folder / OUTPUT)
    if ended.exit_code:
        own = [
            line
            for line in (folder / OUTPUT).read_text(encoding="utf-8", errors="replace").splitlines()
            if line and not line.startswith(("==", "--"))
        ]
        raise SuiteError(
            f"{framework.title} ended under valgrind with exit code {ended.exit_code}:"
            f" {own[-1] if own else ended.last_line}"
        )
    return read_totals((folder / COUNTS).read_text(encoding="utf-8", errors="replace"))


def read_totals(text: str) -> Counts:
    """The totals of a file of cachegrind's: its lines ``events:`` and ``summary:``. Raises
    SuiteError where they are not there."""
    found = dict(re.findall(r"^(events|summary):\s*(.*)$", text, re.MULTILINE))
    names, values = (found.get(line, "").split() for line in ("events", "summary"))
    try:
        number = dict(zip(names, map(int, values), strict=False))
        return Counts(
            instructions=number["Ir"],
            l1d_access=number["Dr"] + number["Dw"],
            l1d_refill=number["D1mr"] + number["D1mw"],
            branches=number["Bc"] + number["Bi"],
            branch_mispredicts=number["Bcm"] + number["Bim"],
        )
    except (KeyError, ValueError):
        raise SuiteError(
            "cachegrind's file has no totals of instructions, data and branches",
            "use valgrind 3.19 or later",
        ) from None


def _version() -> str:
    return subprocess.run(
        ["valgrind", "--version"], capture_output=True, text=True, timeout=60, check=False
    ).stdout.strip()
