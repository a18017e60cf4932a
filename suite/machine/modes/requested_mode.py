"""A requested power mode, and the steps that set it on a machine. What the machine does not offer
is refused before anything changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from suite.errors import SuiteError
from suite.files.names import nearest
from suite.machine.clock_domains import CPU, GPU, MEMORY, core_numbers
from suite.machine.modes.available_modes import AvailableModes, Domain
from suite.machine.nvpmodel import Model
from suite.machine.procfs import read_integer

MHZ = 1_000_000
MAX_DUTY = 255
ROUNDED = 0.015
_KINDS = {CPU: "cpu_mhz", GPU: "gpu_mhz", MEMORY: "emc_mhz"}
_SHOWN = 12
CORES_PARAMETER = "CPU_ONLINE"  # of nvpmodel.conf
_LEFT_ALONE = "left as it is"


@dataclass(frozen=True)
class RequestedMode:
    """A power mode; None: left as it is.

    ``mode`` is a name or id of nvpmodel. ``cores`` is a number (the first N) or a list as 0-3,6.
    ``cpu_mhz``, ``gpu_mhz`` and ``emc_mhz`` are upper limits of clocks. ``turbo`` is on or off.
    ``fan`` is a duty from 0 to 255, or the name of nvpmodel's fan mode. ``jetson_clocks`` locks the
    clocks at their upper limits.
    """

    mode: str | None = None
    cores: str | None = None
    cpu_mhz: int | None = None
    gpu_mhz: int | None = None
    emc_mhz: int | None = None
    governor: str | None = None
    turbo: str | None = None
    fan: str | None = None
    jetson_clocks: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it leaves everything as it is."""
        return self == RequestedMode()

    @property
    def label(self) -> str:
        """What is set, in words: ``MAXN, cores 4, cpu_mhz 1190``."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        parts = [
            str(value) if name == "mode" else f"{name} {value}"
            for name, value in named
            if value is not None and value is not False
        ]
        return ", ".join(parts).replace(" True", "") or _LEFT_ALONE


@dataclass(frozen=True)
class Write:
    """A value for a file of the kernel, relative to the root."""

    file: str
    value: str

    @property
    def brings_on_line(self) -> bool:
        """Whether it brings a core on line."""
        return self.file.endswith("/online") and self.value == "1"


@dataclass(frozen=True)
class Call:
    """A call of one of NVIDIA's programs: its file, relative to the root, and its arguments."""

    program: str
    arguments: tuple[str, ...]

    @property
    def brings_on_line(self) -> bool:
        """Whether it may bring cores on line, as a mode of nvpmodel does."""
        return self.arguments[:1] == ("-m",)


Step = Write | Call


def mode_steps(
    requested: RequestedMode, available: AvailableModes, root: Path = Path("/")
) -> tuple[Step, ...]:
    """The steps that set a mode, in an order that the kernel accepts: nvpmodel first, cores that go
    off line last.

    Raises SuiteError for a mode that this machine does not offer, with what it offers.
    """
    if requested.is_empty:
        raise SuiteError(
            "Name a mode or a setting to change: `suite power set MAXN` or `suite power set"
            " --cores 2`."
        )
    return tuple(_ordered_steps(requested, available, root))


def _ordered_steps(
    requested: RequestedMode, available: AvailableModes, root: Path
) -> Iterator[Step]:
    if requested.mode is not None:
        mode = find_mode(requested.mode, available.modes)
        assert available.nvpmodel is not None, "a machine with modes has nvpmodel"
        yield Call(available.nvpmodel, ("-m", str(mode.id)))
    chosen = () if requested.cores is None else chosen_cores(requested.cores, available)
    if chosen:
        yield from (Write(file, "1") for core, file in available.switches.items() if core in chosen)
    yield from _turbo_steps(requested.turbo, available)
    yield from _governor_steps(requested.governor, available)
    for kind, name in _KINDS.items():
        yield from _clock_steps(kind, getattr(requested, name), available, root)
    yield from _fan_steps(requested.fan, available)
    if requested.jetson_clocks:
        if available.jetson_clocks is None:
            raise SuiteError(
                "--jetson-clocks: this machine has no program jetson_clocks; only Jetsons have it."
            )
        yield Call(available.jetson_clocks, ())
    if chosen:
        yield from (
            Write(file, "0") for core, file in available.switches.items() if core not in chosen
        )


def find_mode(name: str, modes: Sequence[Model]) -> Model:
    """The mode of nvpmodel with this name or id; raises SuiteError with the known ones."""
    found = next((mode for mode in modes if name in (mode.name, str(mode.id))), None)
    if found is None:
        raise SuiteError(
            _unknown(
                "power mode",
                name,
                [mode.name for mode in modes],
                "this machine has no modes of nvpmodel",
            )
        )
    return found


def chosen_cores(cores: str, available: AvailableModes) -> tuple[int, ...]:
    """The cores of a number (the first N) or a list (0-3,6); raises SuiteError for others than the
    machine has, or that leave out one always on."""
    always_on = [core for core in available.cores if core not in available.switches]
    if cores.isdigit():
        chosen = tuple(
            sorted(available.cores, key=lambda core: (core not in always_on, core))[: int(cores)]
        )
        possible = 1 <= int(cores) <= len(available.cores)
    else:
        listed = core_numbers(cores)
        if listed is None:
            raise SuiteError(f"{cores!r} names no cores; write a number (4) or a list (0-3,6).")
        chosen = listed
        possible = bool(chosen) and set(chosen) <= set(available.cores)
    if not possible:
        span = f"{available.cores[0]} to {available.cores[-1]}" if available.cores else "nothing"
        raise SuiteError(
            f"There are no cores {cores!r}: this machine has {len(available.cores)}, numbered"
            f" {span}."
        )
    left_out = [core for core in always_on if core not in chosen]
    if left_out:
        raise SuiteError(
            f"Core {left_out[0]} cannot be taken offline (the kernel has no switch for it), so"
            f" --cores {cores} must include it."
        )
    return chosen


def cores_on_line(requested: RequestedMode, available: AvailableModes) -> int | None:
    """The number of cores that are on line in the mode; None where it leaves them as they are.
    Raises SuiteError as :func:`mode_steps`."""
    if requested.cores is not None:
        return len(chosen_cores(requested.cores, available))
    if requested.mode is None:
        return None
    switched = [
        value
        for parameter, _, value in find_mode(requested.mode, available.modes).settings
        if parameter == CORES_PARAMETER
    ]
    return switched.count("1") or None


def _governor_steps(governor: str | None, available: AvailableModes) -> Iterator[Step]:
    if governor is None:
        return
    domains = available.domains_of(CPU)
    known = list(dict.fromkeys(each for domain in domains for each in domain.governors))
    if governor not in known:
        raise SuiteError(
            _unknown("governor", governor, known, "the kernel offers no cpufreq on this machine")
        )
    for domain in domains:
        if governor in domain.governors and domain.governor_file is not None:
            yield Write(domain.governor_file, governor)


def _clock_steps(
    kind: str, limit_mhz: int | None, available: AvailableModes, root: Path
) -> Iterator[Step]:
    """Cap every clock of the kind. Clocks that lack the frequency (the small cores of two kinds)
    get their next one below."""
    if limit_mhz is None:
        return
    domains = available.domains_of(kind)
    # a clock whose cores are off line tells nothing
    informed = [domain for domain in domains if domain.frequencies_hz or domain.highest_hz]
    if (
        not domains
        or limit_mhz <= 0
        or (informed and not any(_has(domain, limit_mhz) for domain in informed))
    ):
        raise SuiteError(_no_clock(kind, limit_mhz, domains))
    for domain in domains:
        cap_hz = _cap_hz(domain, limit_mhz)
        lower = None if domain.min_file is None else read_integer(root / domain.min_file)
        if domain.min_file is not None and lower is not None and lower * domain.unit_hz > cap_hz:
            # the kernel refuses a maximum below the minimum
            yield Write(domain.min_file, str((domain.lowest_hz or cap_hz) // domain.unit_hz))
        yield Write(domain.max_file, str(cap_hz // domain.unit_hz))


def _has(domain: Domain, limit_mhz: int) -> bool:
    if domain.frequencies_hz:
        return any(_is_near(frequency, limit_mhz) for frequency in domain.frequencies_hz)
    lowest, highest = domain.lowest_hz or 1, domain.highest_hz or limit_mhz * MHZ
    return lowest - MHZ < limit_mhz * MHZ < highest + MHZ


def _is_near(frequency_hz: int, limit_mhz: int) -> bool:
    """Whether somebody who writes this limit means the clock's step: papers and data sheets round
    them (1200 for 1190.4 MHz)."""
    return abs(frequency_hz - limit_mhz * MHZ) <= max(MHZ, ROUNDED * frequency_hz)


def _cap_hz(domain: Domain, limit_mhz: int) -> int:
    limit_hz = limit_mhz * MHZ
    if domain.frequencies_hz:
        near = [frequency for frequency in domain.frequencies_hz if _is_near(frequency, limit_mhz)]
        if near:
            return min(near, key=lambda frequency: abs(frequency - limit_hz))
        return max(
            (frequency for frequency in domain.frequencies_hz if frequency < limit_hz),
            default=min(domain.frequencies_hz),
        )
    return min(max(limit_hz, domain.lowest_hz or limit_hz), domain.highest_hz or limit_hz)


def _no_clock(kind: str, limit_mhz: int, domains: Sequence[Domain]) -> str:
    flag = f"--{_KINDS[kind].replace('_', '-')}"
    if not domains:
        return (
            f"{flag} {limit_mhz}: this machine offers no limit for the {kind}'s clock (a virtual"
            " machine has none)."
        )
    listed = sorted(
        {round(frequency / MHZ) for domain in domains for frequency in domain.frequencies_hz}
    )
    if listed:
        nearest = sorted(sorted(listed, key=lambda frequency: abs(frequency - limit_mhz))[:_SHOWN])
        return (
            f"{flag} {limit_mhz}: no {kind} clock has that frequency; the nearest are"
            f" {', '.join(map(str, nearest))} MHz."
        )
    ends = (
        [(domain.lowest_hz or 0) // MHZ for domain in domains],
        [(domain.highest_hz or 0) // MHZ for domain in domains],
    )
    return f"{flag} {limit_mhz} is not between {min(ends[0])} and {max(ends[1])} MHz."


def _turbo_steps(turbo: str | None, available: AvailableModes) -> Iterator[Step]:
    if turbo is None:
        return
    if turbo not in ("on", "off"):
        raise SuiteError(f"--turbo is {turbo!r}; write on or off.")
    if available.turbo is None:
        raise SuiteError(f"--turbo {turbo}: this machine has no switch for turbo.")
    yield Write(available.turbo.file, available.turbo.on if turbo == "on" else available.turbo.off)


def _fan_steps(fan: str | None, available: AvailableModes) -> Iterator[Step]:
    if fan is None:
        return
    if fan.isdigit():
        if available.fan_file is None or int(fan) > MAX_DUTY:
            possible = (
                "0 to 255"
                if available.fan_file
                else "this machine has no fan that the kernel controls"
            )
            raise SuiteError(f"--fan {fan}: {possible}.")
        yield Write(available.fan_file, fan)
    elif available.nvpmodel is None:
        raise SuiteError(
            f"--fan {fan}: only nvpmodel has fan modes with names; give a duty from 0 to"
            f" {MAX_DUTY}."
        )
    else:
        yield Call(available.nvpmodel, ("-d", fan))


def _unknown(what: str, name: str, known: Sequence[str], none: str) -> str:
    if not known:
        return f"There is no {what} {name!r}: {none}."
    return (
        f"There is no {what} {name!r}; {nearest(name, known)}`suite power list` shows the known"
        f" ones ({', '.join(known)})."
    )
