"""`suite power`: power modes of this machine, and traces of external power meters (`attach BUNDLE
TRACE`)."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from suite import api
from suite.cli.json_output import print_json
from suite.cli.options import Json, with_options
from suite.cli.power_modes import app
from suite.files.shell_command import shell_command
from suite.metrics.traces.attaching import COVERAGES, Attachment
from suite.metrics.traces.columns import TraceOptions
from suite.metrics.traces.own_clock import moved_s


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """What the logger's file does not tell."""

    time: Annotated[
        list[str] | None,
        Option(
            help="Column of the times, by name or number from 1. Repeat the option if date and time"
            " are in two columns."
        ),
    ] = None
    power: Annotated[
        list[str] | None, Option(help="Column of power. Repeat the option to sum several rails.")
    ] = None
    current: Annotated[
        list[str] | None,
        Option(help="Column of current. Repeat the option to sum several rails."),
    ] = None
    voltage: Annotated[
        list[str] | None,
        Option(help="Column of voltage, one for each --current or one for all."),
    ] = None
    volts: Annotated[
        float | None,
        Option(help="Supply voltage (V), for a logger that records only the current."),
    ] = None
    unit: Annotated[
        str | None,
        Option(
            help=(
                "Unit of the columns of power, energy or current, where the header has none: W, mW,"
                " kWh, J, A, mA."
            )
        ),
    ] = None
    time_unit: Annotated[
        str | None,
        Option(help="Unit of the times, if the file does not show it: s, ms, us, ns, min, h or d."),
    ] = None
    rate: Annotated[float | None, Option(help="Rows per second, for a file without times.")] = None
    decimal: Annotated[
        str | None,
        Option(help="Decimal sign (. or a comma), where 1.234 could mean 1234."),
    ] = None
    day_first: Annotated[
        bool | None,
        Option(
            "--day-first/--month-first",
            help="Which comes first in dates such as 5/11, day or month.",
        ),
    ] = None

    series: Annotated[
        list[str] | None,
        Option(
            help="Entity, GPU or channel to read, for a file with several. Repeat the option to sum"
            " several."
        ),
    ] = None
    sum: Annotated[
        bool, Option("--sum", help="Add up all devices whose rows alternate in the file.")
    ] = False
    mean: Annotated[
        bool | None,
        Option(
            "--mean/--moment",
            help="Whether a row's value is the mean since the row before, or the value at the row's"
            " time (default: depends on the instrument).",
        ),
    ] = None

    def options(self) -> TraceOptions:
        """The same for the library."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in vars(self).items()
            if value is not None
        }
        return TraceOptions(rate_hz=given.pop("rate", None), **given)


@app.command()
@with_options
def attach(
    run: Annotated[Path, Argument(help="Run directory of a finished run.")],
    log: Annotated[
        Path,
        Argument(
            help=(
                "The logger's file: CSV with any delimiter, decimal sign, header and units; may be"
                " .gz."
            )
        ),
    ],
    covers: Annotated[
        str,
        Option(help=f"Where the logger measured: {', '.join(each.value for each in COVERAGES)}."),
    ],
    file: FileOptions,
    tier: Annotated[
        str | None,
        Option(
            help=(
                "Kind of instrument: analyser (within 1 %), wall meter (2 %), on-board sensor"
                " (5 %). Default: wall meter, or on-board sensor for tegrastats and jtop."
            )
        ),
    ] = None,
    offset: Annotated[
        float | None,
        Option(
            help=(
                "Seconds to add to the file's times so that they count from run_start; the record"
                " says that you gave this offset (default: fitted)."
            )
        ),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show how the file is read and fitted; write nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Attach the file of an external logger to a finished run, and compute its energy.

    The logger's clock is fitted to the run by how the power changes: start the logger ten seconds
    before the run and end ten seconds after it. A file that fits nowhere, or at several places, is
    refused. `suite run --power-pulse` makes a pattern of loads that fits at one place only.
    """
    run = run.resolve()  # `.` would stay the folder that is replaced
    found = api.attach_power(
        run,
        log,
        covers=covers,
        tier=tier,
        options=file.options(),
        offset_s=offset,
        dry_run=dry_run,
        command=tuple(sys.argv),
    )
    energy = None if dry_run else api.energy_figure(run)
    if json:
        print_json("power-attach", _attachment_json(run, found, energy))
        return
    print(found.understood)
    print(_fit_sentence(found))
    if energy is not None:
        print(_energy_sentence(energy))
        print(f"The run is sealed again. Check it: {shell_command('suite check', run)}")


@app.command()
def leave_out(
    run: Annotated[Path, Argument(help="Run directory of a finished run.")],
    meter: Annotated[
        str, Argument(help="Name of the power meter, as in the output of `suite check`.")
    ],
    reason: Annotated[str, Option(help="Why this meter is left out; shown to readers of the run.")],
    json: Json = False,
) -> None:
    """Leave a power meter out of a run's energies, because it contradicts another one."""
    run = run.resolve()  # as above
    api.leave_meter_out(run, meter, reason=reason)
    energy = api.energy_figure(run)
    if json:
        print_json("power-leave-out", {"path": run, "meter": meter, "energy_j": energy})
        return
    print(_energy_sentence(energy))
    print(f"The run is sealed again. Check it: {shell_command('suite check', run)}")


def _attachment_json(run: Path, found: Attachment, energy: object) -> dict[str, object]:
    trace = found.read.trace
    counts = {
        "rows": trace.rows,
        "readings": len(trace.t_s),
        "unreadable": trace.unreadable,
        "late": trace.late,
        "averaged": trace.averaged,
    }
    return {
        "path": run,
        "understood": found.understood,
        "trace": counts,
        "fit": asdict(found.fit),
        "energy_j": energy,
    }


def _fit_sentence(found: Attachment) -> str:
    fit, trace = found.fit, found.read.trace
    rows = f"{trace.rows} rows" + (
        f", {trace.averaged} averaged to one reading" if trace.averaged > 1 else ""
    )
    left_out = (
        f", {trace.unreadable + trace.late} left out" if trace.unreadable + trace.late else ""
    )
    clock = (
        f"offset {fit.offset_s:.3f} s +- {fit.half_width_s:.3f} s ({fit.method}), rate"
        f" {fit.rate * 1e6:+.0f} ppm"
    )
    second = (
        "no other offset fits"
        if fit.second_ratio is None
        else f"and {fit.correlation * fit.second_ratio:.2f} at the second-best offset"
    )
    apart_s = moved_s(trace, fit, found.course)
    said = f"The fit moved the logger's times by {apart_s:+.1f} s. " if apart_s else ""
    follows = f"correlation with the run {fit.correlation:.3f}, {second}"
    return f"{said}{rows}{left_out}; {clock}; {follows}."


def _energy_sentence(energy: object) -> str:
    assert isinstance(energy, dict)
    if energy.get("value") is None:
        return f"Energy of the run: unknown ({energy.get('reason')})."
    parts = energy.get("uncertainty") or {}
    instrument = ", ".join(energy.get("sensor", {}).get("instruments", []))
    return (
        f"Energy of the run: {energy['value']:.6g} J ({instrument}); uncertainty due to the"
        " readings' times and to the power at the run's start and stop:"
        f" +- {parts.get('time', 0.0):.3g} J."
    )
