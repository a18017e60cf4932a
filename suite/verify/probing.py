"""Runs a probe in its framework's environment and reads the arrays that it writes, without pickles:
a vendor's program is not trusted.

The probes in the checkout make their inputs from the seed (reference_impls.probe) and write an
archive. One of an implementation elsewhere gets its inputs as ``.npy`` files and writes its arrays
as ``.npy`` files: any language can read and write them (docs/implementing.md).
"""

import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_impls.contract import Optimizer, Parallel, Trains
from reference_impls.probe import PROBE_VERSION, ProbeRequest, mini_batch, random_value
from suite.catalog.commands import (
    declared_probe,
    probe_command,
    train_command,
    working_folder,
)
from suite.catalog.frameworks import Framework
from suite.catalog.seeds import implementation_sha256
from suite.catalog.workloads import Workload
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.building import build_implementation
from suite.launch.child_environment import child_environment
from suite.launch.command import run_to_end
from suite.launch.environments import Environment
from suite.launch.mpirun import (
    allow_root,
    find_mpirun,
    last_output_line,
    mpirun_command,
    with_meeting_point,
)
from suite.launch.placement import Placement
from suite.verify.array_differences import Arrays

TIMEOUT_S = 1800
MAX_BYTES = 2**30
"""Of one file of a probe; the largest array of any model has 19 MB."""
ALONE = Parallel(1, 1, "none", 0, False)
Shape = tuple[int, ...]
NO_SHAPES: Mapping[str, Shape] = MappingProxyType({})


@dataclass(frozen=True)
class ProbedImplementation:
    """An implementation to be probed: ``python -m <module>`` with ``interpreter``; ``name`` is its
    label in tables.

    ``outside`` is an implementation that is not in the checkout: its own command is probed, with
    files, and ``module`` is that command as its manifest has it: no record names a path of this
    machine. ``sha256`` is the digest of its files. ``train`` is the command that trains in a run;
    empty: its steps are not compared.
    """

    name: str
    interpreter: Path
    module: str
    outside: Framework | None = None
    sha256: str | None = None
    train: tuple[str, ...] = ()

    @property
    def keeps_states(self) -> bool:
        """Whether what its steps do to parameters and statistics can be compared."""
        return self.outside is None or self.outside.keeps_states


def build_probe(framework: Framework, environment: Environment) -> ProbedImplementation:
    """The framework's probe, built; raises SuiteError where it has none or cannot be built."""
    build_implementation(framework, environment)
    interpreter, outside = environment.interpreter, framework.outside
    module = f"{framework.module}.probe" if outside is None else " ".join(declared_probe(framework))
    return ProbedImplementation(
        framework.name,
        interpreter,
        module,
        None if outside is None else framework,
        implementation_sha256(framework),
        tuple(train_command(framework, interpreter)),
    )


def probe_request(
    workload: Workload, precision: str, learning_rates: Sequence[float]
) -> ProbeRequest:
    """The request of a probe on one thread of the CPU, one rank and the workload's mini-batches."""
    settings = workload.verification
    return ProbeRequest(
        probe_version=PROBE_VERSION,
        model=workload.model,
        classes=settings.classes,
        image_shape=list(settings.image_shape),
        batch_size=settings.batch_size,
        dtype=precision,
        seed=settings.seed,
        optimizer=Optimizer(**asdict(workload.optimizer)),
        learning_rates=list(learning_rates),
        threads=1,
        accelerator="cpu",
        parallel=ALONE,
        shares=1,
        output="",
        trains=workload.requested_part,
    )


def probe_in_precision(
    implementation: ProbedImplementation,
    workload: Workload,
    precision: str,
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
    rates = workload.verification.learning_rates
    request = probe_request(workload, precision, rates if precision == "float64" else rates[:1])
    request = request._replace(accelerator=accelerator)
    return probe_as(implementation, request, shapes or {})


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
        _run_probe(implementation, request, request_file, command, repository_root())
        return read_archive(
            output,
            f"The probe of {implementation.name} wrote no readable archive",
            "; see docs/implementing.md for what it must write.",
        )


def _write_request(path: Path, values: Mapping[str, Any]) -> None:
    """The parts of a request are objects; it has no key for a part that is None."""
    written = {
        name: value._asdict() if isinstance(value, Optimizer | Parallel | Trains) else value
        for name, value in values.items()
        if value is not None
    }
    path.write_text(json.dumps(written), encoding="utf-8")


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
        _run_probe(implementation, request, request_file, command, working_folder(outside))
        return _read_files(output, implementation)


def _run_probe(
    implementation: ProbedImplementation,
    request: ProbeRequest,
    request_file: Path,
    command: list[str],
    folder: Path,
) -> None:
    variables = {**child_environment(request.threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
    if request.parallel.ranks > 1:
        variables = with_meeting_point(allow_root(variables))
        command = mpirun_command(
            find_mpirun(implementation.interpreter),
            Placement((), request.parallel.ranks),
            command,
            variables,
            request_file.parent,
        )
    run_to_end(
        command,
        folder,
        f"The probe of {implementation.name} (`{implementation.module}`)",
        TIMEOUT_S,
        if_missing=f"install what the probe of {implementation.name} needs",
        if_slow=f"run it by hand: {' '.join(command)}",
        variables=variables,
        reason_in=last_output_line if request.parallel.ranks > 1 else None,
    )


def read_archive(path: Path, problem: str, remedy: str = ".") -> dict[str, "np.ndarray[Any, Any]"]:
    """The arrays of an archive, without pickles; raises SuiteError, which begins with ``problem``,
    for one that cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, MemoryError, zipfile.BadZipFile) as error:
        raise SuiteError(f"{problem} ({str(error)[:200]}){remedy}") from error


def _read_files(
    output: Path, implementation: ProbedImplementation
) -> dict[str, "np.ndarray[Any, Any]"]:
    found = {}
    for path in sorted(output.rglob("*.npy")):
        name = path.relative_to(output).as_posix().removesuffix(".npy")
        try:
            found[name] = _numbers(path)
        except (OSError, ValueError, EOFError, MemoryError) as error:
            raise SuiteError(
                f"The probe of {implementation.name} wrote {name}.npy, which is not an array "
                f"({str(error)[:200]})."
            ) from error
    if not found:
        raise SuiteError(
            f"The probe of {implementation.name} wrote no .npy file into the output folder; see"
            " docs/implementing.md for what it must write."
        )
    return found


def _numbers(path: Path) -> "np.ndarray[Any, Any]":
    """The array of a file; raises ValueError for a link or a pipe, which reading would follow or
    wait for, a file too large, and an array of anything but real numbers."""
    if path.is_symlink() or not path.is_file():
        raise ValueError("it is not a regular file")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES // 2**20} MiB")
    array: np.ndarray[Any, Any] = np.load(path, allow_pickle=False)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"it has values of the type {array.dtype}")
    return array
