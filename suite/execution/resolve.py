"""From a person's options to a request: judges them, looks up the prepared data set, and names the
run."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from reference_impls import contract
from suite.bundle.layout import new_run_id
from suite.catalog.data_sets import load_data_set
from suite.catalog.devices import Device
from suite.catalog.divisions import Division
from suite.catalog.frameworks import (
    Capability,
    Framework,
    load_framework,
    load_implementation,
    refuse_adaptation,
    refuse_layout,
    refuse_precision,
    refuse_without,
)
from suite.catalog.request_defaults import CPU_WORKERS, PREFETCH
from suite.catalog.rounds import current_round
from suite.catalog.seeds import use_nonce
from suite.catalog.timings import CPU, possible_timings
from suite.catalog.workloads import Workload, load_workload
from suite.datasets.locate import (
    SYNTHETIC,
    PreparedDataSet,
    data_set_folder,
    find_data_set,
    how_to_prepare,
    published_data_set,
    synthetic_place,
)
from suite.errors import SuiteError
from suite.execution.parallel import refuse_shares, requested_parallel
from suite.execution.request import (
    Accelerator,
    Collective,
    Normalisation,
    RunOptions,
    RunRequest,
    Wire,
)
from suite.files.names import nearest, plain_name
from suite.files.shell_command import shell_command
from suite.launch.child_environment import usable_cores
from suite.machine.identify import resolve_device
from suite.metrics.loss_band import refuse_without_bands

RUNS = Path("runs")
GPU_WORKERS = 4
MAX_WORKERS, MAX_PREFETCH = 64, 64


def resolve_options(
    options: RunOptions, output: Path | None = None, *, as_published: bool = False
) -> RunRequest:
    """Resolve options into a request; ``output`` is the run directory (default: runs/<run id>).

    With ``as_published`` a data set that is not prepared has the contents that its definition
    states: to show a request, not to run it. Raises SuiteError for unknown names, impossible
    values, and a data set that is not prepared or damaged.
    """
    validate_request(options)
    workload, framework = load_workload(options.workload), chosen_framework(options)
    choice = choose_data(workload, options.data)
    refuse_layout(framework, load_data_set(choice.name))
    if workload.start is not None:
        refuse_adaptation(framework, workload.name)
    prepared = (
        published_data_set(choice.name) if as_published and choice.directory is None else None
    ) or find_data_set(choice.name, choice.directory)
    _refuse_other(prepared, options.division)
    device = resolve_device(options.device)
    run_id = new_run_id(workload.name, framework.name)
    training = _training(options, workload, framework, device.device, choice, prepared)
    training = training._replace(output_directory=str((output or RUNS / run_id).absolute()))
    if options.short is not None and options.division is Division.CLOSED:
        refuse_without_bands(contract.request_to_dict(training), options.short)
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


@dataclass(frozen=True)
class DataChoice:
    """The data set of a run: its name, its folder if one was named, and the model, target, epochs
    and augmentation (None: the workload's) that apply to it."""

    name: str
    directory: Path | None
    model: str
    target_accuracy: float | None
    epochs: int
    augmentation: str | None = None


def choose_data(workload: Workload, data: str | None) -> DataChoice:
    """The data set for ``--data``: None or the workload's data set, one of its other data sets, a
    folder, ``name=folder`` or "synthetic".

    Raises SuiteError when ``data`` is neither a data set of the workload nor a folder.
    """
    own = DataChoice(workload.data, None, workload.model, workload.target_accuracy, workload.epochs)
    others = {
        other.data: DataChoice(
            other.data,
            None,
            other.model or workload.model,
            other.target_accuracy,
            other.epochs,
            other.augmentation,
        )
        for other in workload.other_data
    }
    known = {own.name: own, SYNTHETIC: replace(own, directory=synthetic_place(own.name)), **others}
    if data is None:
        return own
    if data in known:
        return known[data]
    name, _, folder = data.partition("=")
    named = {own.name: own, **others}
    if name in named and Path(folder).is_dir():
        return replace(named[name], directory=Path(folder).resolve())
    if Path(data).is_dir():
        called = Path(data).resolve().name
        if called in others:
            typed = (shell_command("--data", f"{each}={data}") for each in (called, own.name))
            raise SuiteError(
                f"{data} may hold {called!r} or {own.name!r}; type `{'` or `'.join(typed)}`."
            )
        return replace(own, directory=Path(data).resolve())
    hint = nearest(name or data, known)
    raise SuiteError(
        f"--data {data!r} is neither a data set of the workload {workload.name!r}"
        f" ({', '.join(known)}) nor a folder that exists" + (f"; {hint.rstrip()}" if hint else ".")
    )


def without_folder(data: str | None) -> str | None:
    """``--data`` without a folder that is not on this machine: another one may have it."""
    name, _, folder = (data or "").partition("=")
    if "/" in name:  # a folder alone
        name, folder = "", data or ""
    is_elsewhere = Path(folder).is_absolute() and not Path(folder).is_dir()
    return (name or None) if is_elsewhere else data


def chosen_framework(options: RunOptions) -> Framework:
    """The framework of that name, or the implementation in the folder."""
    return (
        load_framework(options.framework)
        if options.implementation is None
        else load_implementation(Path(options.implementation))
    )


def _training(
    options: RunOptions,
    workload: Workload,
    framework: Framework,
    device: Device,
    choice: DataChoice,
    prepared: PreparedDataSet,
) -> contract.Request:
    preprocessing, samples = workload.preprocessing, prepared.contents.train_samples
    batch_size = workload.batch_size if options.batch_size is None else options.batch_size
    if options.batch_size is not None and batch_size > samples:
        raise SuiteError(
            f"--batch-size {batch_size} exceeds the {samples} training samples of the data set;"
            " choose a smaller one."
        )
    accelerator = options.accelerator
    if accelerator is Accelerator.AUTO:
        accelerator = Accelerator.CPU if device.gpu is None else Accelerator.CUDA
    precision = options.precision or framework.precisions[0]
    refuse_precision(framework, precision, accelerator.value)
    optimizer = contract.Optimizer(**vars(workload.optimizer))
    if options.learning_rate is not None:
        optimizer = optimizer._replace(base_learning_rate=options.learning_rate)
    return contract.Request(
        contract_version=contract.CONTRACT_VERSION,
        workload=workload.name,
        model=choice.model,
        framework=framework.name,
        division=options.division.value,
        organization=options.organization,
        platform=device.name,
        seed=options.seed,
        epochs=choice.epochs if options.epochs is None else options.epochs,
        steps=options.steps if options.short is None else options.short * -(-samples // batch_size),
        eval_every_epochs=workload.eval_every_epochs,
        target_accuracy=None if options.no_target else choice.target_accuracy,
        global_batch_size=batch_size,
        optimizer=optimizer,
        initial_weights=workload.initial_weights,
        data=_data_set(choice.name, prepared, preprocessing.side),
        preprocessing=contract.Preprocessing(
            list(preprocessing.mean),
            list(preprocessing.std),
            choice.augmentation or preprocessing.augmentation,
        ),
        loading=contract.Loading(
            _workers(options, accelerator),
            PREFETCH if options.prefetch is None else options.prefetch,
        ),
        parallel=requested_parallel(options, workload, samples, batch_size),
        batches="read",
        drop_cache_every_epoch=False,
        accelerator=accelerator.value,
        threads=options.threads
        or workload.threads
        or max(1, usable_cores() // options.placement.ranks_per_node),
        cache_cleared=None,  # set by the run, once the page cache was emptied
        output_directory="",  # follows from the run's id
        precision=precision.value,
        accumulation=options.accumulate,
        timing=_timing(options, framework, accelerator.value),
        start=workload.requested_start,
        trains=requested_part(options.trains, workload),
        old_task=_old_task(workload, options.division),
    )


def requested_part(part: str | None, workload: Workload) -> contract.Trains | None:
    """The part of the model that is trained: the workload's, or the other one of this name."""
    own = workload.requested_part
    if part is None:
        return own
    others = {other.name: list(other.parameters) for other in workload.other_trains}
    if own is None or part not in others:
        raise SuiteError(
            f"The workload {workload.name!r} has no part {part!r} to train",
            f"{nearest(part, others)}choose {', '.join(others)}"
            if others
            else "leave --trains out: this workload trains the whole model",
        )
    return own._replace(parameters=others[part])


def _old_task(workload: Workload, division: Division) -> contract.DataSet | None:
    """What the workload's checkpoint was trained for, where it is prepared here."""
    old = workload.old_task
    if old is None or not data_set_folder(old.data).is_dir():
        return None
    prepared = find_data_set(old.data)
    _refuse_other(prepared, division)
    return _data_set(old.data, prepared, old.side)


def _refuse_other(prepared: PreparedDataSet, division: Division) -> None:
    different = prepared.contents.different
    if different is not None and division is Division.CLOSED:
        raise SuiteError(
            f"{different}: this is not the published {prepared.definition.title}, which closed"
            f" runs must use; prepare it again with {how_to_prepare(prepared.definition)}, or"
            " train in the open division."
        )


def _data_set(name: str, prepared: PreparedDataSet, side: int | None) -> contract.DataSet:
    contents = prepared.contents
    return contract.DataSet(
        name=name,
        directory=str(prepared.directory),
        layout=prepared.definition.layout,
        synthetic=prepared.is_synthetic,
        classes=contents.classes,
        train_samples=contents.train_samples,
        eval_samples=contents.eval_samples,
        verified=contents.verified,
        side=side,
    )


def _timing(options: RunOptions, framework: Framework, accelerator: str) -> str:
    waits_in_steps = options.placement.ranks > 1 or options.memory_budget is not None
    possible = possible_timings(accelerator, waits_in_steps, framework.asynchronous_on)
    if options.timing is None:
        return possible[0].value
    if options.timing in possible:
        return options.timing.value
    if waits_in_steps:
        why = "with several ranks or --memory-budget the program waits in every step"
    elif accelerator == CPU and framework.asynchronous_on:
        why = (
            f"on a CPU, {framework.title} has no device to wait for, so both timings are the same,"
            " and the suite calls them synchronised"
        )
    else:
        why = f"{framework.title} waits for the device in every step"
    raise SuiteError(f"--timing asynchronous is not possible: {why}; leave --timing out.")


def _workers(options: RunOptions, accelerator: Accelerator) -> int:
    """``--workers``; by default four with a GPU (Prashanthi et al., section 5.1), and none on a
    CPU, where they would take the model's cores."""
    if options.workers is not None:
        return options.workers
    return min(GPU_WORKERS, usable_cores()) if accelerator is Accelerator.CUDA else CPU_WORKERS


def validate_request(options: RunOptions) -> None:
    """Raise SuiteError for unknown names and values out of range; needs neither data set nor
    device."""
    load_workload(options.workload)
    framework = chosen_framework(options)
    if options.placement.ranks > 1:
        refuse_without(framework, Capability.RANKS, "--hostfile, --nodes and --ranks-per-node")
    if options.accumulate > 1:
        refuse_without(framework, Capability.ACCUMULATION, "--accumulate")
    refuse_shares(options, framework)
    plain_name(options.organization, "--org")
    at_least_one = {
        "--epochs": options.epochs,
        "--steps": options.steps,
        "--short": options.short,
        "--batch-size": options.batch_size,
        "--threads": options.threads,
        "--accumulate": options.accumulate,
    }
    for flag, value in at_least_one.items():
        if value is not None and value < 1:
            raise SuiteError(f"{flag} must be at least 1, not {value}.")
    ranges = {
        "--workers": (options.workers, 0, MAX_WORKERS),
        "--prefetch": (options.prefetch, 1, MAX_PREFETCH),
        "--seed": (options.seed, 0, 2**32 - 1),
    }
    for flag, (number, least, most) in ranges.items():
        if number is not None and not least <= number <= most:
            raise SuiteError(f"{flag} must be between {least} and {most}, not {number}.")
    if options.learning_rate is not None and not 0 < options.learning_rate < float("inf"):
        raise SuiteError(
            f"--learning-rate must be a finite number above 0, not {options.learning_rate}."
        )
    if options.accelerator is not Accelerator.AUTO:
        _timing(options, framework, options.accelerator.value)
    for is_contradictory, sentence in _contradictions(options):
        if is_contradictory:
            raise SuiteError(sentence)


def _contradictions(options: RunOptions) -> Iterator[tuple[bool, str]]:
    """Options that exclude each other: whether they are used so, and what to leave out."""
    in_budget, accumulates = options.memory_budget is not None, options.accumulate > 1
    is_native = options.collective is Collective.NATIVE  # which weights the ranks' gradients itself
    is_synchronised = options.normalisation is Normalisation.SYNCHRONISED
    yield (
        options.short is not None and options.steps is not None,
        "--short and --steps both say when the training stops; leave one out.",
    )
    yield (
        is_synchronised and not load_workload(options.workload).normalisation_statistics,
        f"The model of {options.workload!r} has no batch normalisation; leave --normalisation"
        f" {options.normalisation.value} out.",
    )
    yield (
        is_synchronised and is_native,
        f"--normalisation {options.normalisation.value} needs the suite's all-reduce; leave"
        " --collective native out.",
    )
    yield (
        options.wire is not Wire.EXACT and is_native,
        f"--wire {options.wire.value} works only with the suite's all-reduce; leave --collective"
        " native out.",
    )
    yield (
        accumulates and is_synchronised,
        "--normalisation synchronised works on one mini-batch per update; leave --accumulate out.",
    )
    yield (
        options.spill is not None and not in_budget,
        "--spill is for activations that do not fit a budget; add --memory-budget, or leave"
        " --spill out.",
    )
    yield (
        accumulates and in_budget,
        (
            "Recomputation updates each weight immediately and cannot accumulate gradients; leave "
            "--memory-budget or --accumulate out."
        ),
    )
