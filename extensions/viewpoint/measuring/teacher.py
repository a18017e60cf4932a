"""The teacher: a model that the suite trained, in a sealed bundle, with the last training state
that the run kept."""

from dataclasses import dataclass
from pathlib import Path

from reference_impls import contract
from reference_impls.state_file import state_name
from suite.bundle import layout
from suite.bundle.layout import states_folder
from suite.bundle.manifest import file_digests
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.datasets.locate import find_data_set
from suite.errors import SuiteError
from suite.extensions.viewpoint.measuring.options import Options
from suite.files.digest import sha256
from suite.files.shell_command import shell_command
from suite.machine.identify import identify
from suite.verify.kept_state import HandedIn, open_state

HOW = "`suite run --division open --workload lenet --framework pytorch --keep-states`"


@dataclass(frozen=True)
class Teacher:
    """The request has this machine's data, threads and folder; ``manifest`` is the SHA-256 of the
    bundle's."""

    request: contract.Request
    run_id: str
    manifest: str
    epoch: int
    state: Path


def open_teacher(options: Options) -> Teacher:
    """Raises SuiteError where there is no bundle, no kept state, or another one than the run
    logged."""
    if not options.run.exists():
        raise SuiteError(
            f"{options.run} does not exist; give a teacher's bundle, or train one with {HOW}."
        )
    bundle = Bundle(options.run)
    if not (options.run / layout.RUN).is_file() or not bundle.is_sealed:
        raise SuiteError(
            f"{options.run} is not the sealed bundle of a trained teacher; train one with {HOW}."
        )
    if sorted(bundle.manifest()) != sorted(
        f"{digest}  {name}" for name, digest in file_digests(options.run).items()
    ):
        raise SuiteError(
            f"{options.run} was changed after it was sealed"
            f" (`{shell_command('suite check', options.run)}`); train a teacher with {HOW}."
        )
    record = bundle.run()
    recorded = contract.request_from_dict(dict(record.request))
    epoch = max(
        (event.epoch for event in bundle.log().all("state_digests") if event.epoch is not None),
        default=0,
    )
    file = states_folder(options.run) / state_name(epoch)
    if not file.is_file():
        raise SuiteError(
            f"{options.run} kept no training state ({file} is missing), which a teacher needs;"
            f" train one with {HOW}."
        )
    state = open_state(bundle, recorded, HandedIn(file, epoch, None))
    return Teacher(
        _request_here(recorded, options),
        record.run_id,
        sha256(options.run / layout.MANIFEST),
        epoch,
        state.file,
    )


def _request_here(recorded: contract.Request, options: Options) -> contract.Request:
    """The request of the run as this machine can build its model and read its data: one rank, one
    process, and the processor, whose idle time the student gets."""
    prepared = find_data_set(recorded.data.name)
    if (prepared.contents.eval_samples, prepared.is_synthetic) != (
        recorded.data.eval_samples,
        recorded.data.synthetic,
    ):
        raise SuiteError(
            f"{prepared.directory} is not the data that the teacher was trained on; prepare"
            f" {recorded.data.name} again."
        )
    framework = load_framework(options.framework or recorded.framework)
    return recorded._replace(
        framework=framework.name,
        platform=identify().device.name,
        accelerator="cpu",
        precision=framework.precisions[0].value,
        data=recorded.data._replace(directory=str(prepared.directory)),
        start=None,  # the state has the weights
        old_task=None,
        parallel=contract.Parallel(1, 1, "none", 0, False),
        loading=contract.Loading(0, 0),
        threads=options.threads,
        recomputation=None,
        output_directory=str(options.output.absolute()),
    )
