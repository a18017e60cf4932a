"""Trains a few epochs with the command that a run times, and compares them with the same steps of a referee in float64.

The command reads a request like a run's, on generated data in the workload's layout: whole mini-batches and smaller last ones, evaluations between
them, the whole schedule. What it writes is what a run writes: the losses of its steps, and the correct predictions of its evaluations. An
implementation of the checkout also keeps its training state, which shows what the first step did to every parameter.
"""

import csv
import math
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from reference_impls import contract
from reference_impls.state_file import StateFile, state_name
from suite.bundle.log import read_log
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import REFERENCE, known_frameworks, load_framework
from suite.catalog.timings import possible_timings
from suite.catalog.workloads import OF_STATES, TimedSteps, Workload
from suite.datasets.synthetic import FOLDERS, WRITERS
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.environments import find
from suite.verify.compare import Arrays, Difference, compare
from suite.verify.probing import ProbedImplementation
from suite.verify.replaying import ALONE, train, usable_threads

EPOCHS, EVALUATED = 5, 50
"""Of two steps each: ten updates, so that one that is skipped now and then shows in a later loss."""

SEED = 20
"""Not the model probe's, so that weights or an order that do not depend on the seed show."""

REFEREE_NAME = "referee.npz"
FIRST_LOSS, LOSSES, CORRECT = "timed first loss", "timed losses", "timed correct"
UPDATE, STATISTIC = OF_STATES


@dataclass(frozen=True)
class Processor:
    """What the implementations compute on, and in which precision; the referee computes on the CPU in float64."""

    accelerator: str = "cpu"
    precision: str = contract.FLOAT32


@dataclass(frozen=True)
class TimedReference:
    """The request that every implementation trains, and the referee's arrays, by the names of a verdict's quantities."""

    request: contract.Request
    arrays: Arrays
    tolerances: dict[str, float]


@contextmanager
def timed_reference(
    workload: Workload, timed: TimedSteps, batch_size: int, processor: Processor, report: Callable[[str], None]
) -> Iterator[TimedReference]:
    """Generate the data, and let the referee train; raises SuiteError when that fails. The data are removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="timed-") as folder:
        request = _request(workload, timed, batch_size, processor, Path(folder))
        report(f"training {EPOCHS} epochs in float64, mini-batches of {batch_size} samples (the referee)")
        yield TimedReference(request, _referee(request, Path(folder)), timed.tolerances.by_quantity())


def ragged(batch_size: int) -> int:
    """Samples of an epoch's second and last mini-batch."""
    return batch_size // 4 + 1


def timed_differences(implementation: ProbedImplementation, reference: TimedReference) -> tuple[Difference, ...]:
    """Train with the implementation's own command, and compare; raises SuiteError when it fails."""
    with tempfile.TemporaryDirectory(prefix="timed-") as folder:
        request = reference.request._replace(framework=implementation.name)
        request = request._replace(timing=_timing(implementation, request.accelerator))
        found = _trained(implementation, request, Path(folder) / "run")
        tolerances = dict(reference.tolerances)
        if implementation.outside is None:
            found.update(_first_step(implementation, request, Path(folder) / "first", reference.arrays))
        else:
            tolerances = {name: value for name, value in tolerances.items() if name not in OF_STATES}
    expected = {name: value for name, value in reference.arrays.items() if not name.startswith("initial/")}
    return compare(expected, found, tolerances)


def _timing(implementation: ProbedImplementation, accelerator: str) -> str:
    """That of a run without --timing: what is timed is what is proved."""
    declared = implementation.outside or known_frameworks().get(implementation.name)
    possible = possible_timings(accelerator, False, () if declared is None else declared.asynchronous_on)
    return str(possible[0].value)


def _request(workload: Workload, timed: TimedSteps, batch_size: int, processor: Processor, folder: Path) -> contract.Request:
    definition = load_data_set(workload.data)
    classes, samples = definition.classes or FOLDERS, batch_size + ragged(batch_size)
    data = folder / "data"
    data.mkdir()
    WRITERS[definition.layout](data, definition, samples, EVALUATED, SEED)
    optimizer = contract.Optimizer(**asdict(workload.optimizer))
    return contract.Request(
        contract.CONTRACT_VERSION, workload.name, workload.model, REFERENCE, "open", "none", "generic", SEED, EPOCHS, None, 1, None, batch_size,
        optimizer._replace(base_learning_rate=timed.base_learning_rate, weight_decay=timed.weight_decay), workload.initial_weights,
        contract.DataSet(workload.data, str(data), definition.layout, classes, samples, EVALUATED, False, True),
        contract.Preprocessing(list(workload.preprocessing.mean), list(workload.preprocessing.std), workload.preprocessing.augmentation),
        contract.Loading(0, 2), ALONE, "read", False, processor.accelerator, usable_threads(workload.threads), None, str(folder),
        precision=processor.precision,
    )  # fmt: skip


def _referee(request: contract.Request, folder: Path) -> Arrays:
    framework = load_framework(REFERENCE)
    module = f"{framework.module}.referee"
    train(
        request._replace(accelerator="cpu", precision=contract.FLOAT32),
        [str(find(framework).interpreter), "-m", module],
        repository_root(),
        f"The referee (`python -m {module}`)",
    )
    try:
        with np.load(folder / REFEREE_NAME, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise SuiteError(f"The referee wrote no readable archive ({str(error)[:200]}).") from error
    losses, correct = arrays.pop("losses"), arrays.pop("correct")
    named = {name if name.startswith("initial/") else f"timed {name}": value for name, value in arrays.items()}
    return {**named, FIRST_LOSS: losses[:1], LOSSES: losses, CORRECT: correct}


def _trained(implementation: ProbedImplementation, request: contract.Request, folder: Path, *arguments: str) -> dict[str, "np.ndarray"]:
    """The losses of all steps, and the numbers of correct predictions."""
    folder.mkdir()
    request = request._replace(output_directory=str(folder))
    working = repository_root() if implementation.outside is None else Path(str(implementation.outside.outside))
    train(request, [*implementation.train, *arguments], working, f"The training of {implementation.name} (`{' '.join(implementation.train)}`)")
    try:
        with (folder / contract.steps_name(0)).open(encoding="utf-8", newline="") as stream:
            losses = np.array([float(row["loss"]) for row in csv.DictReader(stream)])
        evaluations = read_log(folder / contract.log_name(0)).all("eval_accuracy")
        correct = np.array([float(event.metadata.get("correct", math.nan)) for event in evaluations])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SuiteError(
            f"The training of {implementation.name} wrote no readable records ({str(error)[:200]}); see docs/implementing.md."
        ) from error
    return {FIRST_LOSS: losses[:1], LOSSES: losses, CORRECT: correct}


def _first_step(implementation: ProbedImplementation, request: contract.Request, folder: Path, expected: Arrays) -> dict[str, "np.ndarray"]:
    """What the first step did to the parameters that the seed gives, and the statistics after it, from a second training that ends there."""
    states = folder.with_name("states")
    states.mkdir()
    _trained(implementation, request._replace(steps=1), folder, "--keep-states", str(states))
    state = StateFile(str(states / state_name(1))).of_rank(0)
    found = {}
    for name in state:
        kind, _, own = name.partition("/")
        value = np.asarray(state[name]).astype(np.float64)
        initial = expected.get(f"initial/{own}")
        if kind == "parameter":
            found[f"{UPDATE}/{own}"] = value - initial if initial is not None and initial.shape == value.shape else value
        elif kind == "statistic":
            found[f"{STATISTIC}/{own}"] = value
    return found
