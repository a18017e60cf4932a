"""What a run's files may not say: its redactor, kept in the open run directory, and the records as
they are written (suite.files.redaction)."""

import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from reference_impls import contract
from suite.bundle import layout
from suite.bundle.reader import RunRecord
from suite.errors import FileError
from suite.execution.machine_names import of_this_machine, redacted_meters
from suite.execution.request import RunRequest
from suite.files.durable import publish
from suite.files.json_file import read_json, write_json
from suite.files.redaction import DATA, IMPLEMENTATION, OUTPUT, WITNESS, Redactor, read_redactor
from suite.witness.record import Answer, WitnessRecord


def redactor_of(request: RunRequest) -> Redactor:
    """The redactor of a run: its folders, hosts (node0, node1, … in the hostfile's order), witness
    and external meters, and this machine's names."""
    training, outside, hosts = request.training, request.framework.outside, request.placement.hosts
    data, output = Path(training.data.directory), Path(training.output_directory)
    folders = [
        (output, OUTPUT),
        (data, f"{DATA}/{data.name}"),
        *([(Path(outside), IMPLEMENTATION)] if outside else []),
    ]
    names = [(host, f"node{place}") for place, host in enumerate(hosts) if host != "localhost"]
    here = os.uname().nodename
    names += [] if here in hosts or here == "localhost" else [(here, "node0")]
    names += [] if request.witness is None else [(request.witness, WITNESS)]
    return of_this_machine(folders, names)


def recorded_request(request: contract.Request, redactor: Redactor | None = None) -> dict[str, Any]:
    """The request as run.json records it: its two folders relative to their roots. A witness's
    receipt is over these values."""
    name = Path(request.data.directory).name
    known = redactor or of_this_machine()
    data = request.data._replace(directory=f"{DATA}/{known.text(name)}")
    return contract.request_to_dict(request._replace(data=data, output_directory=OUTPUT))


def redacted_record(record: RunRecord, redactor: Redactor) -> RunRecord:
    """The record without names in its message and in what meters say."""
    message = None if record.message is None else redactor.text(record.message)
    return replace(record, message=message, meters=redacted_meters(record.meters, redactor))


def redacted_witness(record: WitnessRecord, redactor: Redactor) -> WitnessRecord:
    """A witness's record with a label for its address, and without names in its answers'
    reasons."""

    def redacted(answer: Answer) -> Answer:
        return replace(
            answer, reason=None if answer.reason is None else redactor.text(answer.reason)
        )

    return replace(
        record,
        address=WITNESS,
        receipt=redacted(record.receipt),
        stamp=None if record.stamp is None else redacted(record.stamp),
        files_stamp=None if record.files_stamp is None else redacted(record.files_stamp),
        asked_again=None if record.asked_again is None else redactor.text(record.asked_again),
    )


def kept_redactor(directory: Path) -> Redactor:
    """The redactor that an open run directory keeps; of one without, that of this machine."""
    return read_redactor(directory / layout.PRIVATE) or of_this_machine([(directory, OUTPUT)])


def redact_output(directory: Path) -> None:
    """Replace ``output.txt`` by its redacted text. The output as it was is kept until the closing
    ends, so that this can be repeated."""
    raw, shown = directory / layout.RAW_OUTPUT, directory / layout.OUTPUT
    if not raw.exists():
        if not shown.exists():
            return
        with publish(raw) as temporary:
            shutil.copyfile(shown, temporary)
    redactor = kept_redactor(directory)
    # every byte reads back
    opened = partial(open, encoding="utf-8", errors="surrogateescape", newline="")
    with publish(shown) as temporary, opened(raw) as lines, opened(temporary, "w") as stream:
        stream.writelines(map(redactor.text, lines))


def witness_file(directory: Path) -> Path:
    """The file beside a run directory with its witness's address, until the witness has stamped the
    closed bundle."""
    return directory.with_name(f"{directory.name}.{layout.WITNESS}")


def keep_witness_address(directory: Path, address: str) -> None:
    """Keep the address where `suite finish` finds it."""
    write_json(witness_file(directory), {"address": address})


def witness_address(directory: Path, recorded: str) -> str:
    """The address that was kept; without one, what the record says."""
    try:
        return str(read_json(witness_file(directory))["address"])
    except (OSError, FileError, KeyError):
        return recorded


def forget_witness(directory: Path) -> None:
    """Remove the kept address."""
    witness_file(directory).unlink(missing_ok=True)
