"""What a program that trains finds in its output directory: the request, and the log begun with the
request's facts."""

import json
from pathlib import Path

from reference_impls import contract
from reference_impls.definitions import log_facts


def write_first_records(request: contract.Request) -> Path:
    """Write both where the request says, for a training without a run's meters; returns the
    request's file."""
    path = Path(request.output_directory) / contract.REQUEST_NAME
    path.write_text(json.dumps(contract.request_to_dict(request)), encoding="utf-8")
    begin_log(request)
    return path


def begin_log(request: contract.Request) -> None:
    """Begin rank 0's log with the facts of the request."""
    path = Path(request.output_directory) / contract.log_name(0)
    log = contract.LogWriter(contract.RecordFile(str(path)))
    log_facts(log, request)
    log.close()
