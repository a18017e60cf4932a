"""`suite power list`, `show`, `set` and `restore`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from suite.cli.json_output import print_json
from suite.cli.options import Json, with_options
from suite.files.counted import counted
from suite.machine.clock_domains import CPU, GPU, MEMORY
from suite.machine.modes.available_modes import AvailableModes, Domain, read_available_modes
from suite.machine.modes.places import SYSTEM
from suite.machine.modes.requested_mode import CORES_PARAMETER, MHZ, RequestedMode, Step, Write
from suite.machine.modes.restore_journal import JournalKind
from suite.machine.modes.set_and_restore import (
    LeftSettings,
    PutBack,
    left_settings,
    refuse_mode,
    restore_modes,
    set_mode,
)
from suite.machine.nvpmodel import Model
from suite.machine.power_settings import PowerSettings, read_power_settings

app = typer.Typer(no_args_is_help=True)
SHOWN_MHZ, SHOWN_CHANGES = 40, 8
_TITLES = {CPU: "CPU", GPU: "GPU", MEMORY: "memory (EMC)"}
Root = Annotated[
    Path,
    Option(
        help="Root of the file system (default: /); for a recorded or simulated board, the folder"
        " with the board's files."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ModeOptions:
    """The settings of a mode that `suite power set` changes; what is not given stays as it is."""

    cores: Annotated[
        str | None, Option(help="Cores to keep online: N (the first N), or a list such as 0-3,6.")
    ] = None
    cpu_mhz: Annotated[int | None, Option(help="Upper limit of the CPU's clock (MHz).")] = None
    gpu_mhz: Annotated[int | None, Option(help="Upper limit of the GPU's clock (MHz).")] = None
    emc_mhz: Annotated[
        int | None, Option(help="Upper limit of the memory controller's clock (MHz).")
    ] = None
    governor: Annotated[
        str | None, Option(help="Governor of the CPU's clock, such as performance.")
    ] = None
    turbo: Annotated[str | None, Option(help="Clocks above the base frequency: on or off.")] = None
    fan: Annotated[
        str | None,
        Option(help="Duty of the fan, 0 to 255, or the name of nvpmodel's fan mode."),
    ] = None
    jetson_clocks: Annotated[
        bool,
        Option("--jetson-clocks", help="Lock the clocks at their upper limits with jetson_clocks."),
    ] = False

    def requested(self, mode: str | None) -> RequestedMode:
        """The same for the library."""
        return RequestedMode(mode, **vars(self))


@app.command("list")
def list_modes(root: Root = SYSTEM, json: Json = False) -> None:
    """List what can be set on this machine: power modes, cores, clocks, governors, turbo, fan."""
    available = read_available_modes(root)
    if json:
        print_json("power-list", _plain_available(available))
        return
    print("\n".join(_available_lines(available)))


@app.command("show")
def show(root: Root = SYSTEM, json: Json = False) -> None:
    """Show the current settings, and what the suite has set and not put back."""
    settings, left = read_power_settings(root), left_settings(root)
    if json:
        print_json(
            "power-show",
            {
                "power_mode": settings.label,
                "power_settings": settings,
                "set_by_suite": left,
            },
        )
        return
    print(
        "\n".join([*_setting_lines(settings), *(line for one in left for line in _left_lines(one))])
    )


@app.command("set")
@with_options
def set_power(
    options: ModeOptions,
    mode: Annotated[
        str | None,
        Argument(help="Name or id of a power mode of nvpmodel (`suite power list`)."),
    ] = None,
    root: Root = SYSTEM,
    dry_run: Annotated[
        bool,
        Option("--dry-run", help="Show what would be written and called; change nothing."),
    ] = False,
    json: Json = False,
) -> None:
    """Set a power mode, or single settings. `suite power restore` puts the earlier settings
    back."""
    requested = options.requested(mode)
    steps = refuse_mode(requested, root)
    if not dry_run:
        set_mode(requested, root)
    label = read_power_settings(root).label
    if json:
        print_json(
            "power-set",
            {
                "wanted": requested.label,
                "steps": [_step(step) for step in steps],
                "is_set": not dry_run,
                "power_mode": label,
            },
        )
        return
    if dry_run:
        print("\n".join(_step(step) for step in steps))
        return
    print(
        f"Set: {requested.label}. Now: {label or 'unknown'}.\nTo put the earlier settings back: "
        "suite power restore"
    )


@app.command("restore")
def restore_power(root: Root = SYSTEM, json: Json = False) -> None:
    """Put back the settings from before `suite power set`, or from before a command that was
    killed."""
    done = restore_modes(root)
    if json:
        print_json(
            "power-restore",
            {
                "restored": done,
                "power_mode": read_power_settings(root).label,
            },
        )
        return
    print(
        "\n".join(put_back_sentence(one) for one in done)
        or "Nothing to put back: the suite has set no power mode."
    )
    print(f"Now: {read_power_settings(root).label or 'unknown'}.")


def put_back_sentence(done: PutBack) -> str:
    """What was put back, in a sentence."""
    before = f"before process {done.pid} set {done.wanted or 'power modes'}"
    if not done.changed:
        return f"The power settings are as they were {before}."
    return f"Put back {counted(len(done.changed), 'power setting')} from {before}."


def _step(step: Step) -> str:
    return (
        f"{step.value} > /{step.file}"
        if isinstance(step, Write)
        else " ".join([f"/{step.program}", *step.arguments])
    )


def _available_lines(available: AvailableModes) -> Iterator[str]:
    if available.modes:
        yield "Power modes of nvpmodel (suite power set NAME):"
        yield from (f"  {mode.id:3} {mode.name}: {_mode_words(mode)}" for mode in available.modes)
    always_on = [core for core in available.cores if core not in available.switches]
    yield f"Cores (--cores): {len(available.cores)}" + (
        f"; always on line: {', '.join(map(str, always_on))}" if always_on else ""
    )
    for domain in available.domains:
        yield (
            f"{_TITLES[domain.kind]} clock {domain.name}"
            f" (--{'emc' if domain.kind == MEMORY else domain.kind}-mhz): {_range(domain)}"
        )
    governors = list(
        dict.fromkeys(governor for domain in available.domains for governor in domain.governors)
    )
    yield (
        "Governors (--governor):"
        f" {', '.join(governors) or 'none: the kernel offers no cpufreq, as in a virtual machine'}"
    )
    yield f"Turbo (--turbo on|off): {'there is a switch' if available.turbo else 'no switch'}"
    yield (
        "Fan (--fan 0..255): "
        f"{f'/{available.fan_file}' if available.fan_file else 'none that the kernel controls'}"
    )
    program = available.jetson_clocks
    yield (
        "Locked clocks (--jetson-clocks):"
        f" {f'/{program}' if program else 'no program jetson_clocks'}"
    )


def _mode_words(mode: Model) -> str:
    """Cores and upper limits of a mode, as its configuration has them; -1 and 0 are no limit."""
    cores = sum(
        value == "1" for parameter, _, value in mode.settings if parameter == CORES_PARAMETER
    )
    caps = {
        parameter: int(value)
        for parameter, name, value in mode.settings
        if name == "MAX_FREQ" and value.lstrip("-").isdigit()
    }
    limits = [f"{parameter} {_cap(parameter, cap)}" for parameter, cap in caps.items()]
    return ", ".join([counted(cores, "core"), *limits])


def _cap(parameter: str, cap: int) -> str:
    return (
        "not limited"
        if cap <= 0
        else f"{round(cap * (1000 if parameter.startswith('CPU') else 1) / MHZ)} MHz"
    )


def _range(domain: Domain) -> str:
    listed = [str(round(frequency / MHZ)) for frequency in domain.frequencies_hz]
    if listed:
        return f"{' '.join(listed[:SHOWN_MHZ])} MHz" + (
            f" and {len(listed) - SHOWN_MHZ} more" if len(listed) > SHOWN_MHZ else ""
        )
    if domain.lowest_hz is None or domain.highest_hz is None:
        return "the kernel does not list the frequencies"
    return f"{domain.lowest_hz // MHZ} to {domain.highest_hz // MHZ} MHz"


def _setting_lines(settings: PowerSettings) -> Iterator[str]:
    yield (
        "Power mode:"
        f" {settings.label or 'unknown: ' + settings.notes.get('mode', 'no reason given')}"
    )
    yield from (f"  differs from the mode: {difference}" for difference in settings.differences)
    yield f"Cores on line: {', '.join(map(str, settings.cores_online or ())) or 'unknown'}"
    for clock in settings.clocks:
        limits = " to ".join(
            "?" if hertz is None else str(round(hertz / MHZ))
            for hertz in (clock.min_hz, clock.max_hz)
        )
        yield f"{_TITLES[clock.kind]} clock {clock.name}: {limits} MHz" + (
            f", governor {clock.governor}" if clock.governor else ""
        )
    yield f"Fan: {settings.fan or settings.notes.get('fan', 'unknown')}"


def _left_lines(left: LeftSettings) -> Sequence[str]:
    who = f"process {left.pid}" + (", which still runs" if left.is_alive else "")
    why = (
        "Set by `suite power set`"
        if left.kind is JournalKind.KEPT and left.is_complete
        else "Changed by a command that restores the earlier settings when it ends"
    )
    changes = [f"  {change}" for change in left.changed[:SHOWN_CHANGES]]
    more = (
        [f"  and {len(left.changed) - SHOWN_CHANGES} more"]
        if len(left.changed) > SHOWN_CHANGES
        else []
    )
    return [
        f"{why} ({left.wanted or 'several modes'}; {who}). Different from before:",
        *changes,
        *more,
        "To restore the earlier settings: suite power restore",
    ]


def _plain_available(available: AvailableModes) -> dict[str, object]:
    return {
        "modes": available.modes,
        "cores": available.cores,
        "always_on": [core for core in available.cores if core not in available.switches],
        "clocks": available.domains,
        "turbo": None if available.turbo is None else available.turbo.file,
        "fan": available.fan_file,
        "nvpmodel": available.nvpmodel,
        "jetson_clocks": available.jetson_clocks,
    }
