"""Prepares a run: since when the harness works for it, the digests of its data, the page caches,
its first records and its witness's receipt."""

import os
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from reference_impls import contract
from reference_impls.contract import NS_PER_S
from suite import __version__
from suite.bundle import layout
from suite.bundle.data_record import DataRecord, write_data_record
from suite.bundle.lifetime import Lifetime
from suite.bundle.reader import RunRecord
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import Framework
from suite.catalog.rounds import current_round
from suite.catalog.seeds import describe_implementation
from suite.datasets.digest_lists import decoded_lines_of, digest_of_list, lines_of
from suite.datasets.layouts import root_of, table_pictures
from suite.errors import SuiteError
from suite.execution.power_pulse import Pulse, run_pulse
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.request import RunRequest
from suite.execution.resume import refuse_other_data
from suite.execution.run_records import RunRecords, records_of
from suite.execution.witnessing import ask_receipt
from suite.files.digest import file_digest
from suite.files.json_file import write_json
from suite.launch.environments import Environment
from suite.launch.isolation import describe_isolation
from suite.launch.recipe import package_name
from suite.machine import system
from suite.machine.power_settings import PowerSettings
from suite.machine.process_tree import CLOCK_TICKS_PER_S, start_ticks
from suite.witness.record import WitnessRecord

RECORDED_LIBRARIES = 200


@dataclass(frozen=True)
class Invocation:
    """How a run was begun: the command line, the ids of rules that its request breaks and the user
    accepted (`--allow-invalid`), and since when the harness works for it.
    """

    command: tuple[str, ...]
    findings_allowed: tuple[str, ...]
    lifetime: Lifetime


@dataclass(frozen=True)
class Preparation:
    """A run whose implementation may be started: its request and the writer of its records; the
    record as it begins, its witness's record, and this machine's power settings and the pulses
    before it."""

    request: RunRequest
    environment: Environment
    records: RunRecords
    record: RunRecord
    witness: WitnessRecord | None
    power: PowerSettings
    pulses: tuple[Pulse, ...]


def prepare_data(request: RunRequest, remote: RemoteRecorders) -> RunRequest:
    """Record the digests of the data, then empty or fill the page cache of every node; returns the
    request with ``cache_cleared`` set. Raises SuiteError for data that cannot be read."""
    data, path = request.training.data, request.directory
    try:
        digests = digest_data(data.name, Path(data.directory))
    except OSError as error:  # else it would be one of the run directory
        raise SuiteError(
            f"{error.filename or data.directory} cannot be read: {error.strerror or error}",
            "make it readable, or move the data set to another disk",
        ) from error
    write_data_record(path, digests)
    if request.resume is not None:
        refuse_other_data(path, request.resume.run)
    are_cold = remote.prepare()
    is_cold = False if False in are_cold else None if None in are_cold else True
    return replace(request, training=request.training._replace(cache_cleared=is_cold))


def prepare(request: RunRequest, environment: Environment, invocation: Invocation) -> Preparation:
    """Write the first records into the run directory, and ask the witness, if there is one, for its
    receipt."""
    records = records_of(request)
    records.redactor.write(records.path / layout.PRIVATE)
    pulses = (run_pulse(),) if request.power_pulse else ()
    witness = ask_receipt(request, records)
    record = RunRecord(
        schema=layout.SCHEMA,
        run_id=request.run_id,
        suite_version=__version__,
        command=invocation.command,
        started_time_ms=int(time.time() * 1000),
        status="running",
        exit_code=None,
        message=None,
        device_evidence=request.device_evidence,
        request=records.request_values(request.training),
        findings_allowed=invocation.findings_allowed,
        round=current_round().name,
        nonce=None if request.nonce is None else asdict(request.nonce),
        implementation=describe_implementation(request.framework),
        study=None if request.study is None else request.study.to_dict(),
        isolation=describe_isolation(request.isolation),
        lifetime=invocation.lifetime.to_dict(),
        # its reason was redacted when it was recorded
        resumed=None if request.resume is None else asdict(request.resume.record),
    )
    records.write_run(record)
    write_json(records.path / contract.REQUEST_NAME, contract.request_to_dict(request.training))
    described = system.describe_system(
        request.device.name,
        _software(environment, request.framework),
        request.data_directory,
        with_identity=request.with_identity,
    )
    records.write_system(described)
    return Preparation(
        request, environment, records, record, witness, described.power_settings, pulses
    )


def _software(environment: Environment, framework: Framework) -> system.Software:
    libraries = _libraries(environment, framework)
    return system.Software(framework.name, None, libraries, environment.python)


def _libraries(environment: Environment, framework: Framework) -> dict[str, str]:
    """The packages of the environment, those that a rule asks for before others are cut off."""
    asked_for = {"numpy", *map(package_name, framework.packages)}
    first = sorted(
        environment.packages.items(), key=lambda each: package_name(each[0]) not in asked_for
    )
    return dict(first[:RECORDED_LIBRARIES])


def digest_data(name: str, directory: Path) -> DataRecord:
    """Read every file of the data set ``name`` in ``directory`` that its definition lists; the
    pictures of its tables only if they are pinned, and their pixels only if the files are other
    ones.

    Files that are missing are left out: the checker reports them. Raises OSError for a file
    that cannot be read, and SuiteError for such a table or picture.
    """
    definition, taken_ns = load_data_set(name), contract.monotonic_ns()
    root = root_of(definition, directory)
    names = definition.file_names
    files = tuple(file_digest(root, each) for each in names if (root / each).is_file())
    pinned = definition.pictures
    if pinned is None:
        return DataRecord(name, taken_ns, files)
    pictures = table_pictures(definition, directory)
    lines = lines_of(pictures)
    digest, decoded = digest_of_list(lines), None
    if pinned.decoded_sha256 is not None and digest != pinned.sha256:
        decoded = digest_of_list(decoded_lines_of(pictures))
    return DataRecord(name, taken_ns, files, len(lines), digest, decoded)


def begin_lifetime(since_process_start: bool, root: Path = Path("/")) -> Lifetime:
    """The lifetime of a run that this process turns to now, or for which it was started.

    In the latter case the interpreter's start and its imports belong to it: ``begin_ns`` is earlier
    by the CPU time that the process has used, and never before the process's start.
    """
    now_ns = time.monotonic_ns()
    if not since_process_start:
        return Lifetime(None, now_ns, ())
    process_ns = process_start_ns(root)
    return Lifetime(process_ns, max(now_ns - time.process_time_ns(), process_ns or 0), ())


def process_start_ns(root: Path) -> int | None:
    """When this process was started (forked), on CLOCK_MONOTONIC, ns, to within a clock tick; None
    where /proc does not say.

    The kernel counts it from boot and includes the time that the machine was suspended
    (CLOCK_BOOTTIME); only the process's age is taken from that.
    """
    ticks = start_ticks(root / "proc" / str(os.getpid()))
    if ticks is None:
        return None
    boot_age_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    age_ns = boot_age_ns - ticks * NS_PER_S // CLOCK_TICKS_PER_S
    now_ns = time.monotonic_ns()
    return now_ns - age_ns if 0 <= age_ns <= now_ns else None
