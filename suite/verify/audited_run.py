"""The run that is audited: what it states of itself, and its request on this machine."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from reference_impls import contract
from suite.bundle.data_record import DATA, read_data_record
from suite.bundle.layout import MANIFEST, RUN, STEPS
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.catalog.divisions import Division
from suite.catalog.frameworks import (
    REFERENCE,
    Capability,
    Framework,
    is_own,
    load_framework,
    load_frameworks,
    load_implementation,
    refuse_without,
)
from suite.catalog.seeds import refuse_other_files
from suite.catalog.workloads import Workload
from suite.compliance.rules.trained import trained_otherwise
from suite.compliance.wording import value_text
from suite.datasets.digest_lists import digest_of_list, lines_of
from suite.datasets.layouts import root_of, table_pictures
from suite.datasets.locate import PreparedDataSet, find_data_set, synthetic_place
from suite.errors import FileError, SuiteError
from suite.files.digest import sha256
from suite.launch import environments
from suite.launch.child_environment import usable_cores
from suite.metrics.audit_record import AuditedBundle
from suite.metrics.replayed_losses import MAX_STEPS
from suite.verify.replaying import TrainedEpoch, train_as_in_a_run

Program = Callable[[Path, int, int], TrainedEpoch]
"""Trains an epoch from the state in the file, as in the run, and shows its first steps."""

DEFAULT_STEPS = 10
"""Later steps decide nothing: rounding has by then moved the losses by as much as a lie
(docs/auditing.md)."""


def audited_bundle(bundle: Bundle) -> AuditedBundle:
    """The bundle's identity; raises SuiteError where run.json or the step records are not those
    that the manifest seals."""
    bundle.expect_sealed("audit a run that `suite run` finished")
    lines = set(bundle.manifest())
    for name in (RUN, STEPS):
        if f"{sha256(bundle.file(name))}  {name}" not in lines:
            raise FileError(
                bundle.path / name,
                f"does not match {MANIFEST}; `suite check` says more",
            )
    run = bundle.run()
    if run.resumed is not None:
        raise SuiteError(
            f"{bundle.path} is a resumed run, whose first steps do not follow from its seed; audit"
            " a run that began with its initial weights."
        )
    request = read_request(run, f"{bundle.path / RUN}")
    return AuditedBundle(
        run_id=str(run.run_id),
        manifest_sha256=sha256(bundle.file(MANIFEST)),
        workload=request.workload,
        framework=request.framework,
        division=request.division,
        seed=request.seed,
        global_batch_size=request.global_batch_size,
        base_learning_rate=float(request.optimizer.base_learning_rate),
        ranks=request.parallel.ranks,
    )


def trained_by(request: contract.Request) -> Framework | None:
    """The framework of the run, None for an implementation outside the checkout; raises SuiteError
    where no tolerance was measured."""
    if request.accumulation > 1:
        raise SuiteError(
            f"The run updated its parameters after every {request.accumulation} mini-batches, but a"
            " replay updates after each, so the run cannot be audited."
        )
    framework = load_framework(request.framework) if is_own(request.framework) else None
    is_measured = framework is None or framework.serves_closed
    if is_measured and request.precision != contract.FLOAT32:
        raise SuiteError(
            f"The run computed in {request.precision}. Tolerances of losses were measured for "
            "float32 only, so the run cannot be audited."
        )
    return framework


def refuse_other_training(bundle: Bundle, request: contract.Request) -> None:
    """Raise SuiteError for an open run that logged that it trained otherwise than requested: what
    replays the request cannot contradict it."""
    if request.division != Division.OPEN.value:
        return
    for key, wanted, event in trained_otherwise(bundle.log(), request):
        raise SuiteError(
            f"The run logged {key} = {value_text(event.value)}, as the open division allows. The"
            f" replay trained the requested {wanted!r}, so the run cannot be audited."
        )


def own_program(bundle: Bundle, folder: Path | None, request: contract.Request) -> Program | None:
    """The implementation in the folder, which made a run of the request; raises SuiteError for
    another one, for one that cannot start from a training state, and where the data of the run's
    old task are not prepared here."""
    if folder is None:
        return None
    program, run = load_implementation(folder), bundle.run()
    refuse_other_files(program, run.implementation or {}, bundle.path)
    refuse_without(program, Capability.STATES, "--implementation")
    if request.parallel.ranks > 1:
        raise SuiteError(
            f"The run had {request.parallel.ranks} ranks, and with --implementation an audit"
            " trains on one rank; leave --implementation out."
        )
    old = request.old_task
    old_here = old and old._replace(directory=str(find_data_set(old.name).directory))
    return partial(train_as_in_a_run, request._replace(old_task=old_here), program)


def replaying_framework(own: Framework | None, chosen: str | None) -> Framework:
    """The framework of the replay."""
    if chosen is not None:
        return load_framework(chosen)
    first = own or load_framework(REFERENCE)
    candidates = [first, *(one for one in load_frameworks() if one.serves_closed)]
    for candidate in candidates if first.serves_closed else (first,):
        try:
            environments.find_environment(candidate)
        except SuiteError:
            continue
        return candidate
    raise SuiteError(
        "No framework has an environment", f"create it with `suite env create {first.name}`"
    )


def data_set_of_run(
    bundle: Bundle, request: contract.Request, directory: Path | None
) -> PreparedDataSet:
    """The run's data set on this machine; raises SuiteError when it has another size than the
    request says, or another content than the run recorded."""
    name = request.data.name
    prepared = find_data_set(
        name, directory or (synthetic_place(name) if request.data.synthetic is True else None)
    )
    found, asked = prepared.contents, request.data
    if (found.classes, found.train_samples) != (asked.classes, asked.train_samples):
        raise SuiteError(
            f"The data set {name!r} in {prepared.directory} has {found.train_samples} training"
            f" samples of {found.classes} classes; the run used {asked.train_samples} samples of"
            f" {asked.classes} classes. Give the run's data set with --data DIR."
        )
    different = _different(bundle, asked.verified is True, prepared)
    if different is not None:
        raise SuiteError(
            f"{different} differs from what the run trained on",
            "prepare the run's data set, or give its folder with --data DIR",
        )
    return prepared


def _different(bundle: Bundle, is_published: bool, prepared: PreparedDataSet) -> Path | None:
    """The first file, or the folder, whose content here differs from that in the run, which had the
    published data set or another one. A bundle of an earlier version may lack digests."""
    if is_published and prepared.contents.verified:
        return None
    if not (bundle.path / DATA).exists():
        return prepared.directory if is_published else None
    record, definition = read_data_record(bundle), prepared.definition
    root = root_of(definition, prepared.directory)
    known = {file.name: file.sha256 for file in record.files}
    for name in definition.file_names:
        if name in known and sha256(root / name) != known[name]:
            return root / name
    if definition.pictures is not None and record.pictures_sha256 is not None:
        pictures = table_pictures(definition, prepared.directory)
        if digest_of_list(lines_of(pictures)) != record.pictures_sha256:
            return root
    return None


def steps_to_replay(bundle: Bundle, chosen: int | None) -> int:
    """The number of steps to replay: those asked for, at most as many as the run has."""
    if chosen is not None and not 1 <= chosen <= MAX_STEPS:
        raise SuiteError(f"--steps must be from 1 to {MAX_STEPS}, not {chosen}.")
    recorded = len(set(bundle.steps().step.tolist()))
    if recorded == 0:
        raise SuiteError(f"{bundle.path} has no step records; there is nothing to compare.")
    return min(chosen or DEFAULT_STEPS, recorded)


def request_here(
    original: contract.Request,
    own: Framework | None,
    workload: Workload,
    prepared: PreparedDataSet,
    steps: int,
) -> contract.Request:
    """The run's request, on this machine's data set and processor, ending after ``steps`` steps."""
    data = original.data._replace(
        directory=str(prepared.directory), layout=prepared.definition.layout
    )
    if original.global_batch_size > data.train_samples:
        raise SuiteError(
            f"The run's mini-batches of {original.global_batch_size} samples are larger than its"
            " data set; `suite check` says more."
        )
    if data.side != workload.preprocessing.side:
        raise SuiteError(
            f"The run's images have {data.side} pixels per side, the workload's have"
            f" {workload.preprocessing.side}; `suite check` says more."
        )
    return original._replace(
        data=data,
        steps=steps,
        loading=contract.Loading(0, 1),
        drop_cache_every_epoch=False,
        accelerator="cpu",
        threads=workload.threads or usable_cores(),
        start=_start(original, workload),
        old_task=None,
        recomputation=None,
        # requests of earlier versions do not name that of a variant
        precision=contract.FLOAT32 if own is None else own.precisions[0].value,
    )


def _start(original: contract.Request, workload: Workload) -> contract.Start | None:
    """Where the run began, with this machine's file of the checkpoint."""
    if original.start is None:
        return None
    if workload.start is None or workload.start.checkpoint != original.start.checkpoint:
        raise SuiteError(
            f"The run began with the checkpoint {original.start.checkpoint!r}, which is not the "
            f"checkpoint of the workload {workload.name!r}; `suite check` says more."
        )
    return original.start._replace(path=str(workload.start.path))
