"""Programs of the reference implementation in PyTorch's environment that measure, and their
results, which are kept for each environment."""

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.files.json_file import write_json
from suite.files.paths import repository_root, suite_home
from suite.launch.child_environment import child_environment
from suite.launch.environments import find_environment

FRAMEWORK = "pytorch"
TIMEOUT_S = 3600.0


def answers_of(
    module: str,
    request: object,
    lines: str,
    what: str,
    in_budget: bool = True,
    timeout_s: float = TIMEOUT_S,
) -> list[dict[str, Any]]:
    """What a program answers to a request and the ``lines`` of its input, a line of JSON each;
    raises SuiteError as :func:`output_of`."""
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        path = Path(scratch) / "request.json"
        path.write_text(json.dumps(request), encoding="utf-8")
        output = output_of(module, [str(path)], what, lines, in_budget, timeout_s)
    return [json.loads(line) for line in output.splitlines()]


def output_of(
    module: str,
    arguments: Sequence[str],
    what: str,
    lines: str = "",
    in_budget: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> str:
    """What a program writes. Raises SuiteError, beginning with ``what``, if it fails or takes
    longer than ``timeout_s``.

    ``in_budget``: it returns freed memory to the kernel, which costs time.
    """
    environment = find_environment(load_framework(FRAMEWORK))
    try:
        done = subprocess.run(
            [str(environment.interpreter), "-m", module, *arguments],
            cwd=repository_root(),
            env=child_environment(1, in_budget=in_budget),
            input=lines,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        raise SuiteError(
            f"{what} did not finish within {timeout_s:g} s",
            "try again on an idle machine, or with a smaller network, picture or mini-batch",
        ) from None
    if done.returncode != 0:
        last = (
            done.stderr.strip().splitlines()
            or [f"it was killed (exit code {done.returncode}): too little memory"]
        )[-1]
        raise SuiteError(f"{what} failed: {last}")
    return done.stdout


def kept_place(folder: Path | None, prefix: str = "", *more: object) -> Path | None:
    """The file of a result in this environment, whose name begins with ``prefix``; None without an
    environment.

    ``more`` is what else the result depends on.
    """
    try:
        environment = find_environment(load_framework(FRAMEWORK))
    except SuiteError:
        return None
    text = json.dumps([str(environment.interpreter), sorted(environment.packages.items()), *more])
    return (
        folder or suite_home() / "memory"
    ) / f"{prefix}{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"


def keep_result(place: Path | None, values: Mapping[str, Any]) -> None:
    """Write a result to its file, if it has one; raises SuiteError where it cannot be written."""
    if place is None:
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_json(place, values)
    except OSError as error:
        raise SuiteError(
            f"{place} could not be written: {error.strerror or error}",
            "free space there, or make the folder writable, and measure again",
        ) from error
