"""Runs a probe in its framework's environment and reads the arrays that it writes, without pickles: a vendor's program is not trusted."""

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

TIMEOUT_S = 1800
ALONE = Parallel(1, 1, "none", 0, False)


@dataclass(frozen=True)
class ProbedImplementation:
    """An implementation to be probed: ``python -m <module>`` with ``interpreter``; ``name`` is its label in tables."""

    name: str
    interpreter: Path
    module: str


def probe(implementation: ProbedImplementation, workload: Workload, precision: str, threads: int = 1) -> Arrays:
    """The arrays that the probe writes in ``precision`` ("float64" or "float32"); raises SuiteError when it writes none.

    In float32 only the first optimiser step is taken: rounding switches ReLUs on or off, so that after a few steps two networks differ.
    The statistics after the first forward pass do not depend on that.
    """
    settings = workload.verification
    rates = settings.learning_rates if precision == "float64" else settings.learning_rates[:1]
    return probe_as(
        implementation,
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


def probe_as(implementation: ProbedImplementation, request: ProbeRequest) -> Arrays:
    """The arrays that the probe writes for a request; its ``output`` is replaced by a temporary file."""
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:
        request_file, output = Path(folder) / "probe.json", Path(folder) / "probe.npz"
        values = {**request._asdict(), "output": str(output)}
        request_file.write_text(json.dumps({**values, **{name: values[name]._asdict() for name in ("optimizer", "parallel")}}), encoding="utf-8")
        _run(implementation, request, request_file)
        return _read(output, implementation)


def _run(implementation: ProbedImplementation, request: ProbeRequest, request_file: Path) -> None:
    command = [str(implementation.interpreter), "-m", implementation.module, "--request", str(request_file)]
    variables = {**child_environment(request.threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
    if request.parallel.ranks > 1:
        variables = allow_root(variables)
        command = mpirun_command(
            find_mpirun(implementation.interpreter), Placement((), request.parallel.ranks), command, variables, request_file.parent
        )
    try:
        done = subprocess.run(
            command,
            cwd=repository_root(),
            env=variables,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
    except OSError as error:
        raise SuiteError(f"{implementation.interpreter} cannot be started ({error.strerror}); give another with --python.") from error
    except subprocess.TimeoutExpired:
        raise SuiteError(f"The probe of {implementation.name} did not finish within {TIMEOUT_S} s; run it by hand: {' '.join(command)}") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1][:300]
        raise SuiteError(f"The probe of {implementation.name} (`{implementation.module}`) ended with {done.returncode}: {last}")


def _read(output: Path, implementation: ProbedImplementation) -> dict[str, "np.ndarray[Any, Any]"]:
    try:
        with np.load(output, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise SuiteError(
            f"The probe of {implementation.name} wrote no readable archive ({str(error)[:200]}); see docs/verifying.md for what it must write."
        ) from error
