"""Trains a few epochs with the command that a run times, and compares them with the same steps of a
referee in float64.

The command reads a request like a closed run's, on generated data in the workload's layout: whole
mini-batches and smaller last ones, evaluations between them, the whole schedule. What it writes is
what a run writes: the losses of its steps, and the correct predictions of its evaluations. One that
keeps its training states also shows what the first step did to every parameter.
"""

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from reference_impls import contract
from reference_impls.data.pipelines import reader_of
from reference_impls.data.reader import Reader
from reference_impls.schedules import SCHEDULES
from reference_impls.state_file import state_name
from suite.bundle.layout import new_run_id, states_folder
from suite.bundle.log import read_log
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import REFERENCE, known_frameworks, load_framework
from suite.catalog.timings import possible_timings
from suite.catalog.workloads import OF_STATES, PreprocessingDefinition, TimedSteps, Workload
from suite.datasets.synthetic import FOLDERS, WRITERS
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.child_environment import usable_cores
from suite.launch.environments import find_environment
from suite.verify.array_differences import Arrays, QuantityDifference, compare_arrays
from suite.verify.probing import ALONE, ProbedImplementation, read_archive
from suite.verify.replaying import recorded_losses, train_program
from suite.verify.state_changes import (
    BIAS_PATH,
    DECAY,
    INITIAL,
    PATH,
    RATE,
    STATISTIC,
    STATISTIC_PATH,
    STATISTIC_WAY,
    UPDATE,
    WAY,
    biases_only,
    changes_between,
    parameter_changes,
    rate_and_decay,
    relative_progress,
)

SEED = 20
"""Not the model probe's, so that weights or an order that do not depend on the seed show."""

REFEREE_NAME = "referee.npz"
FIRST_LOSS, LOSSES, CORRECT = "timed first loss", "timed losses", "timed correct"


@dataclass(frozen=True)
class VerifyOptions:
    """``accelerator`` computes for the implementations; the referee computes on the CPU in float64.
    ``batch_size`` is that of the runs which are to be proved, of which evaluations have whole
    mini-batches, too; None: that of the timed steps.

    ``precision`` is that of the timed steps. The tolerances are those of float32: they show what
    another precision changes.
    """

    accelerator: str = "cpu"
    batch_size: int | None = None
    precision: str = contract.FLOAT32


DEFAULT = VerifyOptions()


@dataclass(frozen=True)
class TimedReference:
    """The request that every implementation trains, and the referee's arrays, by the names of a
    verdict's quantities.

    ``first`` is the request of the training that ends after its first step.
    """

    request: contract.Request
    first: contract.Request
    arrays: Arrays
    tolerances: dict[str, float]


@contextmanager
def timed_reference(
    workload: Workload,
    timed: TimedSteps,
    options: VerifyOptions,
    report: Callable[[str], None],
) -> Iterator[TimedReference]:
    """Generate the data, and let the referee train; raises SuiteError when that fails. The data are
    removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        request = _request(workload, timed, options, Path(folder))
        report(
            f"training the float64 referee: {timed.epochs} epochs, mini-batches of"
            f" {request.global_batch_size} samples"
        )
        first_rate = timed.first_base_learning_rate or timed.base_learning_rate
        first = request._replace(
            steps=1, optimizer=request.optimizer._replace(base_learning_rate=first_rate)
        )
        arrays = _with_scaled_update(
            _referee(request, Path(folder)), first_rate / timed.base_learning_rate
        )
        yield TimedReference(request, first, arrays, timed.tolerances.by_quantity())


def ragged(batch_size: int) -> int:
    """Samples of an epoch's second and last mini-batch."""
    return batch_size // 4 + 1


def whole_evaluation(layout: str) -> int:
    """Samples of a whole and a smaller mini-batch of an evaluation, as the layout's reader makes
    them: of 250 but of photographs."""
    at_once = cast("type[Reader]", reader_of(layout)).evaluation_batch
    return at_once + ragged(at_once)


def timed_differences(
    implementation: ProbedImplementation, reference: TimedReference
) -> tuple[QuantityDifference, ...]:
    """Train with the implementation's own command, and compare; raises SuiteError when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        tolerances = dict(reference.tolerances)
        if implementation.keeps_states:
            found = _state_arrays(implementation, reference, Path(folder))
        else:
            found = _trained(
                implementation, reference.request, _new_run(implementation, reference, Path(folder))
            )
            tolerances = {
                name: value for name, value in tolerances.items() if name not in OF_STATES
            }
    return compare_arrays(reference.arrays, found, tolerances)


def _timing(implementation: ProbedImplementation, accelerator: str) -> str:
    """That of a run without --timing: what is timed is what is proved."""
    declared = implementation.outside or known_frameworks().get(implementation.name)
    possible = possible_timings(
        accelerator, False, () if declared is None else declared.asynchronous_on
    )
    return str(possible[0].value)


def _request(
    workload: Workload, timed: TimedSteps, options: VerifyOptions, folder: Path
) -> contract.Request:
    batch_size = options.batch_size or timed.batch_size
    generate = partial(_generated_data, timed, options.batch_size, batch_size, folder)
    optimizer, old = contract.Optimizer(**asdict(workload.optimizer)), workload.old_task
    return contract.Request(
        contract.CONTRACT_VERSION,
        workload.name,
        workload.model,
        REFERENCE,
        "closed",
        "none",
        "generic",
        SEED,
        timed.epochs,
        None,
        1,
        None,
        batch_size,
        optimizer._replace(
            base_learning_rate=timed.base_learning_rate, weight_decay=timed.weight_decay
        ),
        workload.initial_weights,
        generate(workload.data, SEED)._replace(side=workload.preprocessing.side),
        _with_contrast(workload.preprocessing, timed.contrast),
        contract.Loading(0, 2),
        ALONE,
        "read",
        False,
        options.accelerator,
        workload.threads or usable_cores(),
        None,
        str(folder),
        precision=options.precision,
        start=workload.requested_start,
        trains=workload.requested_part,
        old_task=None if old is None else generate(old.data, SEED + 1)._replace(side=old.side),
    )


def _with_contrast(definition: PreprocessingDefinition, contrast: float) -> contract.Preprocessing:
    return contract.Preprocessing(
        list(definition.mean),
        [deviation / contrast for deviation in definition.std],
        definition.augmentation,
    )


def _generated_data(
    timed: TimedSteps, of_a_run: int | None, batch_size: int, place: Path, name: str, seed: int
) -> contract.DataSet:
    definition, evaluated, folder = load_data_set(name), timed.evaluated, place / name
    if of_a_run is not None:
        evaluated = max(evaluated, whole_evaluation(definition.layout))
    classes, samples = definition.classes or FOLDERS, batch_size + ragged(batch_size)
    folder.mkdir()
    WRITERS[definition.layout](folder, definition, samples, evaluated, seed)
    return contract.DataSet(
        name, str(folder), definition.layout, classes, samples, evaluated, True, False
    )


def _referee(request: contract.Request, folder: Path) -> dict[str, "np.ndarray"]:
    framework = load_framework(REFERENCE)
    module = f"{framework.module}.referee"
    train_program(
        request._replace(accelerator="cpu", precision=contract.FLOAT32),
        [str(find_environment(framework).interpreter), "-m", module],
        repository_root(),
        f"The referee (`python -m {module}`)",
    )
    arrays = read_archive(folder / REFEREE_NAME, "The float64 referee wrote no readable archive")
    losses, correct = arrays.pop("losses"), arrays.pop("correct")
    own = tuple(f"{name}/" for name in (INITIAL, WAY, STATISTIC_WAY))
    named = {
        name if name.startswith(own) else f"timed {name}": value for name, value in arrays.items()
    }
    whole = dict.fromkeys((RATE, DECAY, PATH, BIAS_PATH, STATISTIC_PATH), np.ones(1))
    return {**named, FIRST_LOSS: losses[:1], LOSSES: losses, CORRECT: np.cumsum(correct), **whole}


def _trained(
    implementation: ProbedImplementation, request: contract.Request, folder: Path, *arguments: str
) -> dict[str, "np.ndarray"]:
    """The losses of all steps, and the numbers of correct predictions."""
    folder.mkdir()
    request = request._replace(
        framework=implementation.name,
        timing=_timing(implementation, request.accelerator),
        output_directory=str(folder),
    )
    working = (
        repository_root()
        if implementation.outside is None
        else Path(str(implementation.outside.outside))
    )
    train_program(
        request,
        implementation.train,
        working,
        f"The training of {implementation.name} (`{' '.join(implementation.train)}`)",
        *arguments,
    )
    try:
        losses = np.array(recorded_losses(folder / contract.steps_name(0)))
        evaluations = read_log(folder / contract.log_name(0)).all("eval_accuracy")
        correct = np.array(
            [float(event.metadata.get("correct", math.nan)) for event in evaluations]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SuiteError(
            f"The training of {implementation.name} wrote no readable records ({str(error)[:200]});"
            " see docs/contract.md."
        ) from error
    return {FIRST_LOSS: losses[:1], LOSSES: losses, CORRECT: np.cumsum(correct)}


def _state_arrays(
    implementation: ProbedImplementation, reference: TimedReference, folder: Path
) -> dict[str, "np.ndarray"]:
    """The losses and evaluations of all steps, and what two states show: after all steps, and after
    the first one of a training that ends there.

    The state after all steps is kept only where the workload has a tolerance for the path: it may
    take hundreds of megabytes.
    """
    initial, update, way, statistic_way = (
        _arrays_of(reference.arrays, kind) for kind in (INITIAL, UPDATE, WAY, STATISTIC_WAY)
    )
    whole_run, first_step = (_new_run(implementation, reference, folder) for _ in range(2))
    keeping = _keeping(whole_run) if PATH in reference.tolerances else ()
    found = _trained(implementation, reference.request, whole_run, *keeping)
    _trained(implementation, reference.first, first_step, *_keeping(first_step))
    kept = partial(_kept_changes, implementation, initial)
    first = kept(states_folder(first_step) / state_name(1))
    if keeping:
        last = kept(states_folder(whole_run) / state_name(reference.request.epochs))
        found[PATH] = np.array([relative_progress(last["parameter"], way)])
        found[BIAS_PATH] = np.array(
            [relative_progress(biases_only(last["parameter"]), biases_only(way))]
        )
        found[STATISTIC_PATH] = np.array(
            [
                relative_progress(
                    changes_between(last["statistic"], first["statistic"]), statistic_way
                )
            ]
        )
    found.update((f"{UPDATE}/{name}", value) for name, value in first["parameter"].items())
    found.update((f"{STATISTIC}/{name}", value) for name, value in first["statistic"].items())
    multiples = rate_and_decay(first["parameter"], update, _decayed(reference.first, initial))
    return {
        **found,
        **{name: np.array([value]) for name, value in zip((RATE, DECAY), multiples, strict=True)},
    }


def _kept_changes(
    implementation: ProbedImplementation, initial: Arrays, state: Path
) -> dict[str, dict[str, "np.ndarray"]]:
    try:
        return parameter_changes(state, initial)
    except contract.ContractError as error:
        raise SuiteError(
            f"The training of {implementation.name} kept no readable training state"
            f" ({str(error)[:200]}); see docs/implementing.md#training-states."
        ) from error


def _new_run(implementation: ProbedImplementation, reference: TimedReference, folder: Path) -> Path:
    return folder / new_run_id(reference.request.workload, implementation.name)


def _keeping(run: Path) -> tuple[str, str]:
    folder = states_folder(run)
    folder.mkdir()
    return "--keep-states", str(folder)


def _with_scaled_update(arrays: dict[str, "np.ndarray"], multiple: float) -> Arrays:
    """With the first update that the referee would make at a multiple of the rate: it is
    proportional to it."""
    return {
        name: value * multiple if name.startswith(f"{UPDATE}/") else value
        for name, value in arrays.items()
    }


def _decayed(request: contract.Request, initial: Arrays) -> Arrays:
    """The part of the first update that weight decay makes; none of what is not trained."""
    optimizer, trains = request.optimizer, request.trains
    rate = SCHEDULES[optimizer.schedule](optimizer.base_learning_rate, 0, request.epochs)
    multiple = -rate * optimizer.weight_decay
    return {
        name: value * (multiple if trains is None or trains.is_trained(name) else 0.0)
        for name, value in initial.items()
    }


def _arrays_of(arrays: Arrays, quantity: str) -> Arrays:
    """A quantity's arrays by their own names."""
    prefix = f"{quantity}/"
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
