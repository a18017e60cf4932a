"""`suite audit BUNDLE`."""

import json as json_format
import sys
from pathlib import Path
from typing import Annotated

import typer

from suite import api
from suite.catalog.frameworks import load_framework
from suite.cli.options import Json
from suite.compliance.finding import escaped
from suite.errors import SuiteError
from suite.files.json_file import write_json
from suite.metrics.audit_record import AuditRecord
from suite.metrics.replayed_losses import AuditVerdict

CONTRADICTS, CANNOT_TELL = 1, 2
EXIT_CODES = {AuditVerdict.AGREES: 0, AuditVerdict.CONTRADICTS: CONTRADICTS, AuditVerdict.CANNOT_TELL: CANNOT_TELL}


def audit(
    bundle: Annotated[Path, typer.Argument(help="Sealed run directory.")],
    framework: Annotated[str | None, typer.Option(help="Framework of the replay (default: the run's own, else the first available).")] = None,
    steps: Annotated[int | None, typer.Option(help="Number of steps to train again (default: 10).")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the run's data set (default: that of `suite data prepare`).")] = None,
    json: Json = False,
    output: Annotated[Path | None, typer.Option(help="Also write the record to this JSON file, for a submission.")] = None,
) -> None:
    """Train a run's first steps again and compare. Exit code: 0 agrees, 1 contradicts, 2 could not tell."""
    record = api.audit(bundle, framework=framework, steps=steps, data=data, report=lambda line: print(line, file=sys.stderr))
    if output is not None:
        _write(record, output)
    if json:
        print(json_format.dumps(record.to_dict(), indent=1))
    else:
        _show(record)
    if record.verdict is not AuditVerdict.AGREES:
        raise typer.Exit(EXIT_CODES[record.verdict])


def _write(record: AuditRecord, output: Path) -> None:
    try:
        write_json(output, record.to_dict())
    except OSError as error:
        raise SuiteError(f"{output} cannot be written: {error.strerror}; choose another --output.") from error


def _show(record: AuditRecord) -> None:
    replayer, step = record.replayer, record.comparison.step
    title = f"{load_framework(replayer.framework).title} {replayer.framework_version or ''}".strip()
    print(f"{escaped(record.bundle.run_id)}: {record.verdict.value}, {record.steps} steps in {title}, {record.time_s:.0f} s")
    if record.reason is not None:
        print(f"  {record.reason}")
    if step is not None:
        what = "first step beyond its tolerance" if record.verdict is AuditVerdict.CONTRADICTS else "step nearest to its tolerance"
        print(f"  {what}: {step.step}, loss {step.observed:.6g}, expected {step.expected:.6g}")
        print(f"  difference {step.difference:.1e}, tolerance {step.tolerance:.1e}")
    if record.verdict is AuditVerdict.AGREES:
        error = "" if record.rate_error_found is None else f"; a learning rate wrong by {record.rate_error_found:.2%} or more"
        print(f"  would have been found in these steps: other losses, seed, data, initial weights or batch size{error}")
        print("  not looked at: later steps, times, energy, accuracy and device")
    if not replayer.data_verified:
        print("  the replay's own data set is not verified: a difference may be the data's")
