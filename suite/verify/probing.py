"""Runs a probe in its own environment and reads what it wrote down. Nothing of what a vendor's program writes is evaluated."""

import json
import subprocess
import tempfile
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reference_impls.contract import Optimizer, Parallel
from reference_impls.probe import PROBE_VERSION, ProbeRequest
from suite.catalog.workloads import Workload
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.mpirun import allow_root, find_mpirun, mpirun_command
from suite.launch.placement import Placement
from suite.verify.compare import Arrays

LONGEST_S = 1800
ALONE = Parallel(1, 1, "none", 0, False)


@dataclass(frozen=True)
class ProbedImplementation:
    """An implementation to be probed: ``python -m <module>`` with that interpreter; ``name`` is what the table calls it."""

    name: str
    interpreter: Path
    module: str


def probe(subject: ProbedImplementation, workload: Workload, precision: str, threads: int = 1) -> Arrays:
    """Every array that the probe wrote, in ``precision`` ("float64" or "float32"); raises SuiteError when it wrote none.

    In float32 only the first optimiser step is asked for: rounding decides ReLUs, and a few steps on the networks have parted. What the
    first one's forward pass leaves in the statistics does not depend on that.
    """
    settings = workload.verification
    rates = settings.learning_rates if precision == "float64" else settings.learning_rates[:1]
    return probe_as(
        subject,
        ProbeRequest(
            probe_version=PROBE_VERSION,
            model=workload.model,
            classes=settings.classes,
            image_shape=list(settings.image_shape),
            batch_size=settings.batch_size,
            dtype=precision,
            seed=settings.seed,
            optimizer=Optimizer(**asdict(workload.optimizer)),
            learning_rates=list(rates),
            threads=threads,
            parallel=ALONE,
            shares=1,
            output="",
        ),
    )


def probe_as(subject: ProbedImplementation, asked: ProbeRequest) -> Arrays:
    """Every array that the probe wrote when asked so, wherever the request says that it shall write."""
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:
        request, output = Path(folder) / "probe.json", Path(folder) / "probe.npz"
        values = {**asked._asdict(), "output": str(output)}
        request.write_text(json.dumps({**values, **{name: values[name]._asdict() for name in ("optimizer", "parallel")}}), encoding="utf-8")
        _run(subject, request, asked)
        return _read(output, subject)


def _run(subject: ProbedImplementation, request: Path, asked: ProbeRequest) -> None:
    command = [str(subject.interpreter), "-m", subject.module, "--request", str(request)]
    variables = {**child_environment(asked.threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
    if asked.parallel.ranks > 1:
        variables = allow_root(variables)
        command = mpirun_command(find_mpirun(subject.interpreter), Placement((), asked.parallel.ranks), command, variables, request.parent)
    try:
        done = subprocess.run(
            command,
            cwd=repository_root(),
            env=variables,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_S,
        )
    except OSError as error:
        raise SuiteError(f"{subject.interpreter} cannot be started ({error.strerror}); give another with --python.") from error
    except subprocess.TimeoutExpired:
        raise SuiteError(f"The probe of {subject.name} did not end within {LONGEST_S} s; try it alone: {' '.join(command)}") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:300]
        raise SuiteError(f"The probe of {subject.name} (`{subject.module}`) ended with {done.returncode}: {last}")


def _read(output: Path, subject: ProbedImplementation) -> dict[str, "np.ndarray[Any, Any]"]:
    try:
        with np.load(output, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise SuiteError(
            f"The probe of {subject.name} wrote no readable archive ({str(error)[:200]}); see docs/verifying.md for what it must write."
        ) from error
