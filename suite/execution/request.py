"""A run's request: the user's options, resolved once against workload, device and framework, then
immutable."""

import enum
from dataclasses import dataclass, replace
from pathlib import Path

from reference_impls import contract
from suite.bundle.resumption import Resumption
from suite.bundle.study_mark import StudyMark
from suite.catalog.devices import Device
from suite.catalog.divisions import Division
from suite.catalog.frameworks import (
    Framework,
    load_framework,
    load_implementation,
    refuse_precision,
)
from suite.catalog.precisions import Precision
from suite.catalog.request_defaults import CPU_WORKERS, PREFETCH
from suite.catalog.rounds import current_round
from suite.catalog.seeds import NonceUse, use_nonce
from suite.catalog.timings import CPU, Timing, possible_timings
from suite.catalog.workloads import Workload, load_workload
from suite.datasets.locate import SYNTHETIC, synthetic_place
from suite.errors import SuiteError
from suite.files.names import plain_name
from suite.launch.child_environment import usable_cores
from suite.launch.isolation import Isolation
from suite.launch.placement import Placement
from suite.machine.identify import resolve_device
from suite.machine.limits import Limit

GPU_WORKERS = 4
BUCKET_BYTES, SMALL_MODELS_SHARE = 4 * 2**20, 0.25
FLOAT_BYTES = 4  # of a weight, and of its gradient
ALONE = Placement()
MAX_WORKERS, MAX_PREFETCH = 64, 64


class Collective(str, enum.Enum):
    """All-reduce backend: reference_impls.communication over MPI, or the framework's collectives
    (``native``)."""

    MPI = "mpi"
    NATIVE = "native"


class Normalisation(str, enum.Enum):
    """What batch normalisation takes a rank's statistics over: its own samples, or the whole
    mini-batch."""

    LOCAL = contract.LOCAL
    SYNCHRONISED = contract.SYNCHRONISED


class Wire(str, enum.Enum):
    """Numbers in which gradients are sent: as they are computed, or rounded to 16 bits (open
    division)."""

    EXACT = contract.EXACT
    FLOAT16 = contract.FLOAT16
    BFLOAT16 = contract.BFLOAT16


class Accelerator(str, enum.Enum):
    """The processor that trains; ``auto`` is CUDA on devices whose profile has a GPU."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True)
class RunOptions:
    """The user's options; None: the workload's value.

    ``implementation`` is the folder of an implementation outside the checkout, whose name then
    replaces ``framework``.

    With ``nonce``, the seed is computed from it, the current round and ``run_number``
    (suite.catalog.seeds), and ``seed`` is not used.
    """

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
    workers: int | None = None
    prefetch: int | None = None
    organization: str = "none"
    placement: Placement = ALONE
    collective: Collective = Collective.MPI
    normalisation: Normalisation = Normalisation.LOCAL
    wire: Wire = Wire.EXACT
    accumulate: int = 1  # mini-batches whose gradients are summed for one update
    with_identity: bool = True  # the bundle has a digest of each board's serial number
    nonce: str | None = None
    run_number: int = 0
    implementation: str | None = None
    # of products and convolutions; None: the framework's first, float32 of all but variants
    precision: Precision | None = None
    # None: the first of suite.catalog.timings.possible_timings
    timing: Timing | None = Timing.SYNCHRONISED
    # "2GB": what the training process may take; a schedule of recomputation is planned for it
    memory_budget: str | None = None
    # a folder for activations that do not fit the memory budget, instead of recomputation
    spill: str | None = None


class PageCache(str, enum.Enum):
    """State of the page cache at the start of a run: emptied, or with the data set read into it."""

    COLD = "cold"
    WARM = "warm"


@dataclass(frozen=True)
class Resume:
    """The run directory of an interrupted run, the ``state`` that training continues from, and what
    the new run records of it."""

    state: Path
    run: Path
    record: Resumption


@dataclass(frozen=True)
class RunRequest:
    """A resolved run: its definitions, and ``training``, the request that the implementation reads.

    ``baseload_s`` is how long the idle nodes are measured before the run, s; 0: not at all.
    ``power_pulse``: make a pattern of loads before and after the run. ``nonce`` says where the seed
    came from; None: the user chose it. ``witness`` is the address of the witness
    (suite.witness.client); None: there is none. ``with_identity``: as in RunOptions.
    ``keep_states``: every epoch's training state is kept (suite.execution.kept_states).
    ``left_out``: names of the meters that are not read. ``resume``: the run continues another one
    (suite.execution.resume); None: it begins with the initial weights. ``study``: the run is made
    for a study; None: it is not. ``limits`` are on what the implementation may use of this machine
    (suite.machine.limits). ``isolation``: what the implementation is started in; None: nobody asked
    for any. ``neighbours``: further trainings of the request beside it.
    """

    run_id: str
    workload: Workload
    device: Device
    device_evidence: str
    framework: Framework
    training: contract.Request
    page_cache: PageCache = PageCache.COLD
    placement: Placement = ALONE
    baseload_s: float = 0.0
    power_pulse: bool = False
    nonce: NonceUse | None = None
    witness: str | None = None
    keep_states: bool = False
    with_identity: bool = True
    left_out: tuple[str, ...] = ()
    study: StudyMark | None = None
    limits: tuple[Limit, ...] = ()
    isolation: Isolation | None = None
    neighbours: int = 0
    resume: Resume | None = None


@dataclass(frozen=True)
class DataChoice:
    """The data set of a run: its name, its folder if one was named, and the model, target and
    epochs that apply to it."""

    name: str
    directory: Path | None
    model: str
    target_accuracy: float | None
    epochs: int


def choose_data(workload: Workload, data: str | None) -> DataChoice:
    """The data set for ``--data``: None or the workload's data set, one of its other data sets, a
    folder, ``name=folder`` or "synthetic".

    Raises SuiteError when ``data`` is neither a data set of the workload nor a folder.
    """
    own = DataChoice(workload.data, None, workload.model, workload.target_accuracy, workload.epochs)
    others = {other.data: other for other in workload.other_data}
    if data is None or data == workload.data:
        return own
    if data == SYNTHETIC:
        return replace(own, directory=synthetic_place(workload.data))
    if data in others:
        other = others[data]
        return DataChoice(
            data, None, other.model or workload.model, other.target_accuracy, other.epochs
        )
    name, _, folder = data.rpartition("=")
    if name in others and Path(folder).is_dir():
        other = others[name]
        return DataChoice(
            name,
            Path(folder).resolve(),
            other.model or workload.model,
            other.target_accuracy,
            other.epochs,
        )
    if Path(data).is_dir():
        return replace(own, directory=Path(data).resolve())
    known = ", ".join([workload.data, SYNTHETIC, *others])
    raise SuiteError(
        f"--data {data!r} is neither a data set of the workload {workload.name!r} ({known}) nor a"
        " folder that exists."
    )


def chosen_framework(options: RunOptions) -> Framework:
    """The framework of that name, or the implementation in the folder."""
    return (
        load_framework(options.framework)
        if options.implementation is None
        else load_implementation(Path(options.implementation))
    )


def resolve(
    options: RunOptions, data_set: contract.DataSet, output_directory: Path, run_id: str
) -> RunRequest:
    """Resolve the options into a request.

    ``data_set`` is the prepared data set for ``choose_data(...)``. Raises SuiteError for an unknown
    workload, framework or device.
    """
    workload, framework = load_workload(options.workload), chosen_framework(options)
    device = resolve_device(options.device)
    choice = choose_data(workload, options.data)
    batch_size = workload.batch_size if options.batch_size is None else options.batch_size
    if options.batch_size is not None and batch_size > data_set.train_samples:
        raise SuiteError(
            f"--batch-size {batch_size} is larger than the data set; name at most"
            f" {data_set.train_samples}, its training samples."
        )
    optimizer, accelerator = workload.optimizer, _accelerator(options.accelerator, device.device)
    training = contract.Request(
        contract_version=contract.CONTRACT_VERSION,
        workload=workload.name,
        model=choice.model,
        framework=framework.name,
        division=options.division.value,
        organization=options.organization,
        platform=device.device.name,
        seed=options.seed,
        epochs=choice.epochs if options.epochs is None else options.epochs,
        steps=options.steps,
        eval_every_epochs=workload.eval_every_epochs,
        target_accuracy=choice.target_accuracy,
        global_batch_size=batch_size,
        optimizer=contract.Optimizer(
            optimizer.name,
            (
                optimizer.base_learning_rate
                if options.learning_rate is None
                else options.learning_rate
            ),
            optimizer.momentum,
            optimizer.weight_decay,
            optimizer.schedule,
        ),
        initial_weights=workload.initial_weights,
        data=data_set,
        preprocessing=contract.Preprocessing(
            list(workload.preprocessing.mean),
            list(workload.preprocessing.std),
            workload.preprocessing.augmentation,
        ),
        loading=contract.Loading(
            _workers(options, accelerator),
            PREFETCH if options.prefetch is None else options.prefetch,
        ),
        parallel=_parallel(options, workload, data_set, batch_size),
        batches="read",
        drop_cache_every_epoch=False,
        accelerator=accelerator,
        threads=options.threads
        or workload.threads
        or max(1, usable_cores() // options.placement.ranks_per_node),
        cache_cleared=None,  # set by the run, once the page cache was emptied
        output_directory=str(output_directory),
        precision=_precision(options, framework, accelerator),
        accumulation=options.accumulate,
        timing=_timing(options, framework, accelerator),
    )
    used = None
    if options.nonce is not None:
        used = use_nonce(
            options.nonce,
            current_round().name,
            options.run_number,
            framework,
            contract.request_to_dict(training),
        )
        training = training._replace(seed=used.seed)
    named = (run_id, workload, device.device, device.evidence, framework, training)
    return RunRequest(
        *named, placement=options.placement, nonce=used, with_identity=options.with_identity
    )


def bucket_bytes(gradient_bytes: int) -> int:
    """Size of a bucket of gradients; a small model has several, so that exchanges begin during its
    backward pass (docs/multi-node.md)."""
    return min(BUCKET_BYTES, int(SMALL_MODELS_SHARE * gradient_bytes))


def _parallel(
    options: RunOptions, workload: Workload, data_set: contract.DataSet, batch_size: int
) -> contract.Parallel:
    placement = options.placement
    if placement.ranks == 1:
        return contract.Parallel(1, 1, "none", 0, False)
    smallest = data_set.train_samples % batch_size or batch_size
    if smallest < placement.ranks:
        raise SuiteError(
            f"An epoch's smallest mini-batch has {smallest} sample{'s' * (smallest > 1)}, fewer"
            f" than the {placement.ranks} ranks; choose another --batch-size, or fewer ranks."
        )
    buckets, chosen = (
        bucket_bytes(workload.parameters * FLOAT_BYTES),
        (options.normalisation.value, options.wire.value),
    )
    return contract.Parallel(
        placement.ranks, placement.nodes, options.collective.value, buckets, True, *chosen
    )


def _accelerator(option: Accelerator, device: Device) -> str:
    if option is Accelerator.AUTO:
        option = Accelerator.CPU if device.gpu is None else Accelerator.CUDA
    return str(option.value)


def _precision(options: RunOptions, framework: Framework, accelerator: str) -> str:
    precision = options.precision or framework.precisions[0]
    refuse_precision(framework, precision, accelerator)
    return str(precision.value)


def _timing(options: RunOptions, framework: Framework, accelerator: str) -> str:
    waits_in_steps = options.placement.ranks > 1 or options.memory_budget is not None
    possible = possible_timings(accelerator, waits_in_steps, framework.asynchronous_on)
    if options.timing is None:
        return str(possible[0].value)
    if options.timing in possible:
        return str(options.timing.value)
    if waits_in_steps:
        why = "Ranks that exchange gradients, and schedules of recomputation, wait in every step"
    elif accelerator == CPU and framework.asynchronous_on:
        why = (
            f"{framework.title} on a CPU has nothing to wait for: both timings are the same there,"
            " and it is called synchronised"
        )
    else:
        why = f"{framework.title} waits for the device in every step"
    raise SuiteError(f"{why}; leave --timing asynchronous out.")


def _workers(options: RunOptions, accelerator: str) -> int:
    """``--workers``; by default four with a GPU (Prashanthi et al., section 5.1), and none on a
    CPU, where they would take the model's cores."""
    if options.workers is not None:
        return options.workers
    return (
        min(GPU_WORKERS, usable_cores()) if accelerator == Accelerator.CUDA.value else CPU_WORKERS
    )


def validate(options: RunOptions) -> None:
    """Raise SuiteError for unknown names and values out of range; needs neither data set nor
    device."""
    load_workload(options.workload)
    framework = chosen_framework(options)
    if framework.outside is not None and options.placement.ranks > 1:
        raise SuiteError(
            f"{framework.title} is not in the checkout and trains on one rank only; leave"
            " --hostfile and --ranks-per-node out."
        )
    plain_name(options.organization, "--org")
    at_least_one = {
        "--epochs": options.epochs,
        "--steps": options.steps,
        "--batch-size": options.batch_size,
        "--threads": options.threads,
        "--accumulate": options.accumulate,
    }
    for flag, value in at_least_one.items():
        if value is not None and value < 1:
            raise SuiteError(f"{flag} must be at least 1, not {value}.")
    if options.workers is not None and not 0 <= options.workers <= MAX_WORKERS:
        raise SuiteError(f"--workers must be between 0 and {MAX_WORKERS}, not {options.workers}.")
    if options.prefetch is not None and not 1 <= options.prefetch <= MAX_PREFETCH:
        raise SuiteError(
            f"--prefetch must be between 1 and {MAX_PREFETCH}, not {options.prefetch}."
        )
    if not 0 <= options.seed < 2**32:
        raise SuiteError(f"--seed must be between 0 and {2**32 - 1}, not {options.seed}.")
    if options.learning_rate is not None and not 0 < options.learning_rate < float("inf"):
        raise SuiteError(f"--learning-rate must be a positive number, not {options.learning_rate}.")
    if options.accelerator is not Accelerator.AUTO:
        _timing(options, framework, options.accelerator.value)
    if options.normalisation is Normalisation.SYNCHRONISED:
        _refuse_synchronised(options)
    if options.wire is not Wire.EXACT and options.collective is Collective.NATIVE:
        raise SuiteError(
            f"--wire {options.wire.value} is of the suite's all-reduce; leave --collective native"
            " out."
        )
    if options.accumulate > 1 and options.normalisation is Normalisation.SYNCHRONISED:
        raise SuiteError(
            "--normalisation synchronised is of one mini-batch an update; leave --accumulate out."
        )
    if options.spill is not None and options.memory_budget is None:
        raise SuiteError(
            "--spill is for activations that do not fit a budget; add --memory-budget, or leave"
            " --spill out."
        )
    if options.accumulate > 1 and options.memory_budget is not None:
        raise SuiteError(
            "A schedule of recomputation updates each weight at once; leave --memory-budget or"
            " --accumulate out."
        )


def _refuse_synchronised(options: RunOptions) -> None:
    """Raise SuiteError where there are no statistics to synchronise, or where a framework's own
    all-reduce weights the ranks' gradients."""
    if not load_workload(options.workload).normalisation_statistics:
        raise SuiteError(
            f"The model of {options.workload!r} has no batch normalisation; leave --normalisation"
            f" {options.normalisation.value} out."
        )
    if options.collective is Collective.NATIVE:
        raise SuiteError(
            f"--normalisation {options.normalisation.value} needs the suite's all-reduce; leave"
            " --collective native out."
        )
