"""The one writer of a run's records: run.json, system.json, nodes.json, witness.json and output.txt
are written without names of people, machines and networks (suite.files.redaction).

A run.json or system.json that is read back was redacted when it was written, and is not redacted
again: a host's name may be another host's label. This module needs no package that a framework's
environment lacks.
"""

import os
import shutil
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from reference_impls import contract
from suite.bundle import layout
from suite.bundle.node_records import NodeRecord, write_nodes
from suite.bundle.reader import Bundle, RunRecord
from suite.errors import SuiteError
from suite.execution.request import RunRequest
from suite.files.durable import publish
from suite.files.json_file import write_json
from suite.files.name_forms import ADDRESS
from suite.files.redaction import (
    DATA,
    ELSEWHERE,
    IMPLEMENTATION,
    OUTPUT,
    WITNESS,
    Redactor,
    machine_redactor,
    read_redactor,
)
from suite.launch.placement import address_of
from suite.machine.system import SystemDescription
from suite.meters.settings import MeterSettings, load_settings
from suite.witness.record import WitnessRecord

FREE_TEXTS = frozenset(("asked_again", "last_error", "message", "notes", "problem", "reason"))
"""Keys of texts that drivers, programs and other machines write; all other texts of these records
are the suite's own."""
KEPT_OF_EACH_END = 2**20
"""Characters of an implementation's output that are kept from its beginning and from its end, in
whole lines: a name that is cut in two would not be found."""


@dataclass(frozen=True)
class RunRecords:
    """Writes the records of a run into the directory ``path``; none has what ``redactor`` knows."""

    path: Path
    redactor: Redactor

    def request_values(self, request: contract.Request) -> dict[str, Any]:
        """The request as run.json records it: its folders relative to their roots. A witness's
        receipt is over these values."""
        name = self.redactor.text(Path(request.data.directory).name)
        data = request.data._replace(directory=f"{DATA}/{name}")
        start, old, planned = request.start, request.old_task, request.recomputation
        spill = planned and planned.spill_folder
        return contract.request_to_dict(
            request._replace(
                data=data,
                output_directory=OUTPUT,
                start=start and start._replace(path=Path(start.path).name),
                old_task=old and old._replace(directory=f"{DATA}/{old.name}"),
                recomputation=planned
                and planned._replace(spill_folder=spill and self.redactor.path(spill)),
            )
        )

    def write_run(self, record: RunRecord) -> None:
        """``run.json``, from the record of a run that this process runs."""
        discreet = replace(
            record,
            command=tuple(self.redactor.command(record.command)),
            implementation=self.redactor.value(record.implementation),
            study=self.redactor.value(record.study),
            message=self.redactor.value(record.message),
            meters=without_names(record.meters, self.redactor),
        )
        write_json(self.path / layout.RUN, discreet)

    def write_system(self, described: SystemDescription) -> None:
        """``system.json``."""
        write_json(self.path / layout.SYSTEM, without_names(asdict(described), self.redactor))

    def write_nodes(self, nodes: Sequence[NodeRecord]) -> None:
        """``nodes.json``."""
        discreet = [NodeRecord(**without_names(vars(node), self.redactor)) for node in nodes]
        write_nodes(self.path, discreet)

    def write_witness(self, record: WitnessRecord) -> None:
        """``witness.json``, with a label in place of the witness's address."""
        discreet = without_names(asdict(record), self.redactor)
        WitnessRecord(**{**discreet, "address": WITNESS}).write(self.path)


def records_of(request: RunRequest) -> RunRecords:
    """The records of a run: its redactor knows its folders, hosts and their addresses (node0,
    node1, … in the hostfile's order), witness and external meters, and this machine's names."""
    data, outside = request.data_directory, request.framework.outside
    hosts, here = request.placement.hosts, os.uname().nodename
    folders = [(request.directory, OUTPUT), (data, f"{DATA}/{data.name}")]
    folders += [(Path(outside), IMPLEMENTATION)] if outside else []
    names = [(host, f"node{place}") for place, host in enumerate(hosts) if host != "localhost"]
    names += [(found, f"node{k}") for k, host in enumerate(hosts) if (found := address_of(host))]
    names += [] if here in hosts or here == "localhost" else [(here, "node0")]
    names += [] if request.witness is None else [(request.witness, WITNESS)]
    return RunRecords(request.directory, local_redactor(folders, names))


def kept_records(path: Path) -> RunRecords:
    """The records of a run directory that is not closed: the redactor is the one that it keeps, or
    else this machine's."""
    return RunRecords(
        path, read_redactor(path / layout.PRIVATE) or local_redactor([(path, OUTPUT)])
    )


def local_redactor(
    folders: Sequence[tuple[Path, str]] = (), names: Sequence[tuple[str, str]] = ()
) -> Redactor:
    """A redactor that knows this machine and its external meters."""
    try:
        settings = load_settings(Path("/"))
    except SuiteError:  # the meters report it
        settings = MeterSettings()
    plugs = [(plug.address, ADDRESS) for plug in (settings.shelly, settings.tasmota) if plug]
    tables = [Path(table.file) for table in (settings.meter_csv,) if table]
    elsewhere = [(table, f"{ELSEWHERE}/{table.name}") for table in tables]
    return machine_redactor([*folders, *elsewhere], [*names, *plugs])


def without_names(values: Any, redactor: Redactor) -> Any:
    """JSON values whose FREE_TEXTS are redacted, at any depth."""
    if isinstance(values, Mapping):
        return {
            key: redactor.value(value) if key in FREE_TEXTS else without_names(value, redactor)
            for key, value in values.items()
        }
    if isinstance(values, list | tuple):
        return [without_names(value, redactor) for value in values]
    return values


def write_output(path: Path) -> None:
    """Replace ``output.txt`` by its redacted text, of a long one by both ends. The output as it was
    is kept until the closing ends, so that this can be repeated."""
    raw, shown = path / layout.RAW_OUTPUT, path / layout.OUTPUT
    if not raw.exists():
        if not shown.exists():
            return
        with publish(raw) as temporary:
            shutil.copyfile(shown, temporary)
    redactor = kept_records(path).redactor
    # every byte reads back
    opened = partial(open, encoding="utf-8", errors="surrogateescape", newline="")
    with publish(shown) as temporary, opened(raw) as lines, opened(temporary, "w") as stream:
        stream.writelines(map(redactor.text, _both_ends(lines)))


def _both_ends(stream: TextIO) -> Iterator[str]:
    """The lines of a text, of a long one those at its ends, with a line for what is left out."""
    room = KEPT_OF_EACH_END
    for line in stream:
        yield line
        room -= len(line)
        if room <= 0:
            break
    last, length, left_out = deque[str](), 0, 0
    for line in stream:
        last.append(line)
        length += len(line)
        while length > KEPT_OF_EACH_END and len(last) > 1:  # the last one explains a failure
            gone = len(last.popleft())
            length, left_out = length - gone, left_out + gone
    if left_out:
        yield f"\n[{left_out} characters of the output were left out here]\n"
    yield from last


def amend_system(path: Path, name: str, value: object) -> None:
    """Add to ``system.json`` what was unknown, with a note, before the run."""
    described = Bundle(path).json(layout.SYSTEM)
    described["notes"].pop(name, None)
    write_json(path / layout.SYSTEM, {**described, name: value})
