"""A run's request: what a person asked for, resolved once against workload, device and framework, then never changed."""

import enum
import os
from dataclasses import dataclass
from pathlib import Path

from reference_impls import contract
from suite.devices import Device, resolve_device
from suite.errors import SuiteError
from suite.frameworks import Framework, load_framework
from suite.workloads import Workload, load_workload


class Division(str, enum.Enum):
    """Closed: same model, data, optimiser and target, tuned within listed ranges. Open: anything, quality reported."""

    CLOSED = "closed"
    OPEN = "open"


class Accelerator(str, enum.Enum):
    """Where the model is trained; ``auto`` is CUDA on devices whose profile has a GPU."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True)
class RunOptions:
    """What a person typed; None means: as the workload says."""

    division: Division
    device: str
    workload: str
    framework: str
    data: str | None = None  # a data set's name, or the folder that holds the workload's own
    seed: int = 1
    epochs: int | None = None
    steps: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    threads: int | None = None
    accelerator: Accelerator = Accelerator.AUTO
    organization: str = "none"


class PageCache(str, enum.Enum):
    """How a run finds the page cache: emptied, or with the data set read into it."""

    COLD = "cold"
    WARM = "warm"


@dataclass(frozen=True)
class RunRequest:
    """A resolved run: the definitions it stands on, and ``training``, all that the implementation is told."""

    run_id: str
    workload: Workload
    device: Device
    device_evidence: str
    framework: Framework
    training: contract.Request
    page_cache: PageCache = PageCache.COLD


@dataclass(frozen=True)
class DataChoice:
    """Which data set a run is on: its name, its folder if one was named, and the target and epochs that hold on it."""

    name: str
    directory: Path | None
    target_accuracy: float
    epochs: int


def choose_data(workload: Workload, data: str | None) -> DataChoice:
    """The workload's own data set, one of its other data sets by name, or its own in a folder that was named.

    Raises SuiteError when the word is neither a data set of the workload nor a folder.
    """
    others = {other.data: other for other in workload.other_data}
    if data is None or data == workload.data:
        return DataChoice(workload.data, None, workload.target_accuracy, workload.epochs)
    if data in others:
        return DataChoice(data, None, others[data].target_accuracy, others[data].epochs)
    if Path(data).is_dir():
        return DataChoice(workload.data, Path(data).resolve(), workload.target_accuracy, workload.epochs)
    known = ", ".join([workload.data, *others])
    raise SuiteError(f"--data {data!r} is neither a data set of the workload {workload.name!r} ({known}) nor a folder that exists.")


def resolve(options: RunOptions, data_set: contract.DataSet, output_directory: Path, run_id: str) -> RunRequest:
    """Resolve what was asked into what is run.

    ``data_set`` is the prepared data set for ``choose_data(...)``. Raises SuiteError for an unknown workload, framework or
    device.
    """
    workload, framework = load_workload(options.workload), load_framework(options.framework)
    device = resolve_device(options.device)
    choice = choose_data(workload, options.data)
    optimizer = workload.optimizer
    training = contract.Request(
        contract_version=contract.CONTRACT_VERSION,
        workload=workload.name,
        model=workload.model,
        framework=framework.name,
        division=options.division.value,
        organization=options.organization,
        platform=device.device.name,
        seed=options.seed,
        epochs=choice.epochs if options.epochs is None else options.epochs,
        steps=options.steps,
        eval_every_epochs=workload.eval_every_epochs,
        target_accuracy=choice.target_accuracy,
        global_batch_size=workload.batch_size if options.batch_size is None else options.batch_size,
        optimizer=contract.Optimizer(
            optimizer.name,
            optimizer.base_learning_rate if options.learning_rate is None else options.learning_rate,
            optimizer.momentum,
            optimizer.weight_decay,
            optimizer.schedule,
        ),
        initial_weights=workload.initial_weights,
        data=data_set,
        preprocessing=contract.Preprocessing(list(workload.preprocessing.mean), list(workload.preprocessing.std)),
        batches="read",
        drop_cache_every_epoch=False,
        accelerator=_accelerator(options.accelerator, device.device),
        threads=options.threads or workload.threads or len(os.sched_getaffinity(0)),
        cache_cleared=None,  # known once the cache was dropped, right before the start
        output_directory=str(output_directory),
    )
    return RunRequest(run_id, workload, device.device, device.evidence, framework, training)


def _accelerator(asked: Accelerator, device: Device) -> str:
    if asked is Accelerator.AUTO:
        asked = Accelerator.CPU if device.gpu is None else Accelerator.CUDA
    return str(asked.value)


def refuse_impossible(options: RunOptions) -> None:
    """Raise SuiteError for names that do not exist and values that no run can have; needs neither data nor device."""
    load_workload(options.workload)
    load_framework(options.framework)
    at_least_one = {"--epochs": options.epochs, "--steps": options.steps, "--batch-size": options.batch_size, "--threads": options.threads}
    for flag, value in at_least_one.items():
        if value is not None and value < 1:
            raise SuiteError(f"{flag} must be at least 1, not {value}.")
    if not 0 <= options.seed < 2**32:
        raise SuiteError(f"--seed must be between 0 and {2**32 - 1}, not {options.seed}.")
    if options.learning_rate is not None and not 0 < options.learning_rate < float("inf"):
        raise SuiteError(f"--learning-rate must be a positive number, not {options.learning_rate}.")
