"""Runs a probe in its framework's environment and reads the arrays that it writes, without pickles:
a vendor's program is not trusted.

The probes in the checkout make their inputs from the seed (reference_impls.probe) and write an
archive. One of an implementation elsewhere gets its inputs as ``.npy`` files and writes its arrays
as ``.npy`` files: any language can read and write them (docs/implementing.md).
"""

import json
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_impls.contract import Optimizer, Parallel
from reference_impls.probe import PROBE_VERSION, ProbeRequest, mini_batch, random_value
from suite.catalog.commands import probe_command, train_command, working_folder
from suite.catalog.frameworks import Framework
from suite.catalog.seeds import implementation_sha256
from suite.catalog.workloads import Workload
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.building import build
from suite.launch.child_environment import child_environment
from suite.launch.environments import Environment
from suite.launch.mpirun import allow_root, find_mpirun, mpirun_command
from suite.launch.placement import Placement
from suite.verify.compare import Arrays

TIMEOUT_S = 1800
ALONE = Parallel(1, 1, "none", 0, False)
Shape = tuple[int, ...]
NO_SHAPES: Mapping[str, Shape] = MappingProxyType({})


@dataclass(frozen=True)
class ProbedImplementation:
    """An implementation to be probed: ``python -m <module>`` with ``interpreter``; ``name`` is its
    label in tables.

    ``outside`` is an implementation that is not in the checkout: its own command is probed, with
    files. ``sha256`` is the digest of its files. ``train`` is the command that trains in a run;
    empty: its steps are not compared.
    """

    name: str
    interpreter: Path
    module: str
    outside: Framework | None = None
    sha256: str | None = None
    train: tuple[str, ...] = ()


def probed(framework: Framework, environment: Environment) -> ProbedImplementation:
    """The framework's probe, built; raises SuiteError where it has none or cannot be built."""
    build(framework, environment)
    digest, train = (
        implementation_sha256(framework),
        tuple(train_command(framework, environment.interpreter)),
    )
    if framework.outside is None:
        return ProbedImplementation(
            framework.name,
            environment.interpreter,
            f"{framework.module}.probe",
            sha256=digest,
            train=train,
        )
    command = " ".join(probe_command(framework, environment.interpreter, "float64"))
    return ProbedImplementation(
        framework.name, environment.interpreter, command, framework, digest, train
    )


def probe(
    implementation: ProbedImplementation,
    workload: Workload,
    precision: str,
    threads: int = 1,
    shapes: Mapping[str, Shape] | None = None,
    accelerator: str = "cpu",
) -> Arrays:
    """The arrays that the probe writes in ``precision`` ("float64" or "float32"); raises SuiteError
    when it writes none.

    ``shapes`` are those of the reference's parameters and statistics, by ``parameter/<name>`` and
    ``statistic/<name>``: the inputs of a probe that gets files.

    In float32 only the first optimiser step is taken: rounding switches ReLUs on or off, so that
    after a few steps two networks differ. The statistics after the first forward pass do not depend
    on that.
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
            accelerator=accelerator,
            parallel=ALONE,
            shares=1,
            output="",
        ),
        shapes or {},
    )


def probe_as(
    implementation: ProbedImplementation,
    request: ProbeRequest,
    shapes: Mapping[str, Shape] = NO_SHAPES,
) -> Arrays:
    """The arrays that the probe writes for a request; its ``output`` is replaced by a temporary
    file or folder."""
    if implementation.outside is not None:
        return _probe_with_files(implementation, implementation.outside, request, shapes)
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:
        request_file, output = Path(folder) / "probe.json", Path(folder) / "probe.npz"
        values = {**request._asdict(), "output": str(output)}
        _write_request(request_file, values)
        command = [
            str(implementation.interpreter),
            "-m",
            implementation.module,
            "--request",
            str(request_file),
        ]
        _run(implementation, request, request_file, command, repository_root())
        return _read(output, implementation)


def _write_request(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(
        json.dumps(
            {**values, **{name: values[name]._asdict() for name in ("optimizer", "parallel")}}
        ),
        encoding="utf-8",
    )


def _probe_with_files(
    implementation: ProbedImplementation,
    outside: Framework,
    request: ProbeRequest,
    shapes: Mapping[str, Shape],
) -> dict[str, "np.ndarray[Any, Any]"]:
    with tempfile.TemporaryDirectory(prefix="probe-") as temporary:
        request_file, inputs, output = (
            Path(temporary) / name for name in ("probe.json", "inputs", "output")
        )
        for folder in (
            inputs / "parameter",
            inputs / "statistic",
            output / "parameter",
            output / "statistic",
            output / "gradient",
        ):
            folder.mkdir(parents=True)
        for name, shape in shapes.items():
            values = random_value(name.partition("/")[2], shape, request.seed).astype(request.dtype)
            np.save(inputs / f"{name}.npy", values, allow_pickle=False)
        for index in range(len(request.learning_rates)):
            for what, array in zip(("images", "labels"), mini_batch(request, index), strict=True):
                np.save(inputs / f"{what}_{index}.npy", array, allow_pickle=False)
        _write_request(
            request_file, {**request._asdict(), "inputs": str(inputs), "output": str(output)}
        )
        command = [
            *probe_command(outside, implementation.interpreter, request.dtype),
            "--request",
            str(request_file),
        ]
        _run(implementation, request, request_file, command, working_folder(outside))
        return _read_files(output, implementation)


def _run(
    implementation: ProbedImplementation,
    request: ProbeRequest,
    request_file: Path,
    command: list[str],
    folder: Path,
) -> None:
    variables = {**child_environment(request.threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
    if request.parallel.ranks > 1:
        variables = allow_root(variables)
        command = mpirun_command(
            find_mpirun(implementation.interpreter),
            Placement((), request.parallel.ranks),
            command,
            variables,
            request_file.parent,
        )
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
    except OSError as error:
        raise SuiteError(
            f"{command[0]} cannot be started ({error.strerror}); it is the probe of"
            f" {implementation.name}."
        ) from error
    except subprocess.TimeoutExpired:
        raise SuiteError(
            f"The probe of {implementation.name} did not finish within {TIMEOUT_S} s; run it by"
            f" hand: {' '.join(command)}"
        ) from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1][:300]
        raise SuiteError(
            f"The probe of {implementation.name} (`{implementation.module}`) ended with"
            f" {done.returncode}: {last}"
        )


def _read(output: Path, implementation: ProbedImplementation) -> dict[str, "np.ndarray[Any, Any]"]:
    try:
        with np.load(output, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise SuiteError(
            f"The probe of {implementation.name} wrote no readable archive ({str(error)[:200]});"
            " see docs/verifying.md for what it must write."
        ) from error


def _read_files(
    output: Path, implementation: ProbedImplementation
) -> dict[str, "np.ndarray[Any, Any]"]:
    found = {}
    for path in sorted(output.rglob("*.npy")):
        name = path.relative_to(output).as_posix().removesuffix(".npy")
        try:
            found[name] = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise SuiteError(
                f"The probe of {implementation.name} wrote {name}.npy, which is no array"
                f" ({str(error)[:200]})."
            ) from error
    if not found:
        raise SuiteError(
            f"The probe of {implementation.name} wrote no .npy file into the output folder; see"
            " docs/implementing.md for what it must write."
        )
    return found
