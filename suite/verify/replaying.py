"""Trains the first steps of a request again, in a framework's environment: through the
implementation and the loop, or in float64."""

import csv
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reference_impls import contract
from suite.bundle.log import read_log
from suite.catalog.frameworks import Framework
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.command import run_to_end
from suite.launch.environments import find
from suite.verify.probing import ALONE, read_archive

TIMEOUT_S = 3600
LOSSES_NAME = "losses.npz"


@dataclass(frozen=True)
class Replayed:
    """The losses of the replayed steps, each the mean of its global mini-batch, and the version of
    the framework that computed them.

    ``correct`` are the numbers of correctly classified samples, by the epochs that were evaluated.
    """

    losses: tuple[float, ...]
    framework_version: str | None
    correct: Mapping[int, int]


def replay(request: contract.Request, framework: Framework, start: Path | None = None) -> Replayed:
    """Train the request's steps with the framework's implementation, as the loop drives it in a
    run; raises SuiteError when that fails.

    One rank trains on the whole mini-batches of a request of several. From the training state in
    the file ``start``, the losses are those of the steps after it, and the evaluation after the
    state's epoch comes first.
    """
    changed = request._replace(framework=framework.name, parallel=ALONE, target_accuracy=None)
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        _train(changed._replace(output_directory=folder), framework, framework.module, start)
        log = read_log(Path(folder) / contract.log_name(0))
        version = log.value("framework_version")
        losses = _losses(Path(folder) / contract.steps_name(0))
        return Replayed(losses, version if isinstance(version, str) else None, log.correct())


def replay_in_float64(
    request: contract.Request, framework: Framework, start: Path | None = None
) -> tuple[tuple[float, ...], bool]:
    """The same in float64, and whether every rank's share was normalised alone, as in the run: then
    one rank cannot replace several."""
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        _train(
            request._replace(framework=framework.name, output_directory=folder),
            framework,
            f"{framework.module}.replay",
            start,
        )
        problem = f"The replay in {framework.title} wrote no readable losses"
        arrays = read_archive(Path(folder) / LOSSES_NAME, problem)
        if not {"losses", "by_shares"} <= arrays.keys():
            raise SuiteError(f"{problem} (it has {', '.join(arrays) or 'nothing'}).")
        return tuple(map(float, arrays["losses"])), bool(arrays["by_shares"])


def _train(
    request: contract.Request, framework: Framework, module: str, start: Path | None
) -> None:
    train(
        request,
        [str(find(framework).interpreter), "-m", module],
        repository_root(),
        f"The replay in {framework.title} (`python -m {module}`)",
        *(() if start is None else ("--start-state", str(start))),
    )


def train(
    request: contract.Request, command: Sequence[str], folder: Path, what: str, *arguments: str
) -> None:
    """Start a program that trains the request, in ``folder``, with ``arguments`` after the
    request's; raises SuiteError, which names it as ``what``, where it does not end well."""
    path = Path(request.output_directory) / contract.REQUEST_NAME
    path.write_text(json.dumps(contract.request_to_dict(request)), encoding="utf-8")
    tf32 = request.precision == contract.TF32
    variables = {**child_environment(request.threads, tf32=tf32), "TF_CPP_MIN_LOG_LEVEL": "3"}
    run_to_end(
        [*command, "--request", str(path), *arguments],
        folder,
        what,
        TIMEOUT_S,
        if_missing="create the environment again with `suite env create`",
        if_slow="ask for fewer steps or smaller mini-batches.",
        variables=variables,
    )


def recorded_losses(path: Path) -> list[float]:
    """The losses of a file of step records, in order."""
    with path.open(encoding="utf-8", newline="") as stream:
        return [float(row["loss"]) for row in csv.DictReader(stream)]


def _losses(path: Path) -> tuple[float, ...]:
    losses = recorded_losses(path)
    if not all(map(math.isfinite, losses)):
        raise SuiteError(f"The replay's losses are not finite numbers ({path.name}).")
    return tuple(losses)
