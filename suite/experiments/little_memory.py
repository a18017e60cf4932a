"""Limits of memory in which a framework cannot start: tried before the first run of a sweep, by
importing it under each."""

import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from suite.catalog.frameworks import Framework
from suite.errors import SuiteError
from suite.experiments.before_runs import Check
from suite.launch.child_environment import child_environment
from suite.launch.environments import Environment, find_environment
from suite.launch.process import release_process, start_process, terminate_session
from suite.machine.limits import memory_limit, process_limits, refuse_limit

MAX_START_S = 120.0
"""An import that takes longer reads its libraries' pages again and again, because they do not
fit."""


def checks_of_memory(
    limits: Iterable[tuple[Framework, float | None]], root: Path = Path("/")
) -> Iterator[Check]:
    """One check for each framework of runs that are limited in memory (10^6 bytes; None: they are
    not)."""
    frameworks: dict[str, tuple[Framework, set[float]]] = {}
    for framework, memory_mb in limits:
        if memory_mb is not None:
            frameworks.setdefault(framework.argument, (framework, set()))[1].add(memory_mb)
    yield from (
        partial(refuse_little_memory, framework, sorted(sizes), root)
        for framework, sizes in frameworks.values()
    )


def refuse_little_memory(
    framework: Framework, sizes_mb: Iterable[float], root: Path = Path("/")
) -> None:
    """Raise SuiteError with the sizes in which the framework cannot be imported; they are tried in
    this order, until one is enough."""
    environment, too_little = find_environment(framework), []
    for size_mb in sizes_mb:
        if starts(framework, environment, size_mb, root):
            break
        too_little.append(f"{size_mb:g}")
    if too_little:
        raise SuiteError(
            f"memory_mb {', '.join(too_little)}: {framework.title} cannot start in so little memory"
            " (`import` was tried); choose more."
        )


def starts(
    framework: Framework, environment: Environment, size_mb: float, root: Path = Path("/")
) -> bool:
    """Whether the framework can be imported in this memory."""
    limit = memory_limit(size_mb)
    refuse_limit(limit, root)
    command = [str(environment.interpreter), "-c", f"import {framework.import_name or 'sys'}"]
    with (
        tempfile.TemporaryDirectory(prefix="memory-") as folder,
        process_limits([limit], root) as limit_process,
    ):
        process = start_process(
            command, child_environment(1), Path(folder) / "output.txt", folder=Path(folder)
        )
        try:
            limit_process(process.pid)
            release_process(process)
            return process.wait(MAX_START_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            terminate_session(process)
