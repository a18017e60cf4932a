"""The power mode of the machine: a name for its limits, and the settings that really hold.

A Jetson has modes with names (nvpmodel). Other machines have none: there the mode is the governor
and the limits, since they decide speed and energy in the same way. Either way the label holds what
is capped, so that two settings are two entries (docs/boards.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from suite.machine import nvpmodel
from suite.machine.clock_domains import CPU, GPU, Clock, online_cores, read_clocks, turbo
from suite.machine.procfs import natural_order, read_integer, read_text

POWERCAP = "sys/class/powercap"
PACKAGE = "package"


@dataclass(frozen=True)
class PowerLimit:
    """One limit of one RAPL zone, W; ``zone`` is the kernel's name of the zone, ``constraint``
    long_term, short_term or peak_power."""

    zone: str
    name: str
    constraint: str
    limit_w: float
    window_s: float | None

    @property
    def is_of_package(self) -> bool:
        """Whether it limits a whole processor package over time: what firmware calls PL1 and
        PL2."""
        return self.name.startswith(PACKAGE) and self.constraint in ("long_term", "short_term")


def limit_files(root: Path) -> list[Path]:
    """The files that hold the limits, in microwatts, in order of zones: those by MSR (intel-rapl)
    and by MMIO, which hold together."""
    return [
        path
        for zone in natural_order((root / POWERCAP).glob("intel-rapl*:*"))
        for path in natural_order(zone.glob("constraint_*_power_limit_uw"))
    ]


def read_power_limits(root: Path) -> tuple[PowerLimit, ...]:
    """Every power limit that the kernel shows; empty without RAPL, as on ARM. Source: Linux
    power/powercap/powercap."""
    found = []
    for path in limit_files(root):
        zone, stem = path.parent, path.name.removesuffix("_power_limit_uw")
        microwatts, window_us = read_integer(path), read_integer(zone / f"{stem}_time_window_us")
        if microwatts is not None:
            names = read_text(zone / "name") or zone.name, read_text(zone / f"{stem}_name") or stem
            found.append(
                PowerLimit(
                    zone.name,
                    *names,
                    microwatts * 1e-6,
                    None if window_us is None else window_us * 1e-6,
                )
            )
    return tuple(found)


NVPMODEL, CPUFREQ = "nvpmodel", "cpufreq"
PLATFORM_PROFILE = "sys/firmware/acpi/platform_profile"
_NO_MODE = "the kernel offers neither NVIDIA's power modes nor cpufreq, as in a virtual machine"


@dataclass(frozen=True)
class PowerSettings:
    """What limits the machine's speed and power at one moment.

    ``source`` is nvpmodel (a Jetson's modes) or cpufreq (governor and limits); None where the
    kernel offers neither. ``mode`` is the mode's name or the governors, ``mode_id`` nvpmodel's id.
    ``is_custom``: the id is not in nvpmodel.conf, or the settings of ``differences`` are not the
    mode's. ``clocks_locked``: CPU and GPU cannot change their clocks, as after jetson_clocks.
    ``fan`` is nvpmodel's fan mode, else the fan's duty (0 to 255). ``notes`` has, by field, why it
    is None.
    """

    source: str | None
    mode: str | None
    mode_id: int | None = None
    is_custom: bool = False
    differences: tuple[str, ...] = ()
    clocks_locked: bool | None = None
    fan: str | None = None
    cores_online: tuple[int, ...] | None = None
    turbo: bool | None = None
    platform_profile: str | None = None
    clocks: tuple[Clock, ...] = ()
    power_limits: tuple[PowerLimit, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str | None:
        """The name that identifies an entry: mode, cores, upper clock limits and what else is set;
        None where the mode is unknown.

        ``MAXN: 12 cores up to 2202 MHz, GPU up to 1301 MHz``; ``ondemand: 4 cores, 600 to 1800
        MHz``. Clocks that only root can read are left out, so that the label does not depend on who
        runs the suite.
        """
        name = self._mode_name()
        if name is None:
            return None
        parts = [*self._clock_parts(), *self._switches()]
        return f"{name}: {', '.join(parts)}" if parts else name

    def _mode_name(self) -> str | None:
        if (
            self.source == NVPMODEL
            and self.mode is None
            and self.mode_id is not None
            and self.is_custom
        ):
            return f"custom mode {self.mode_id}"
        return f"{self.mode} (changed)" if self.mode is not None and self.is_custom else self.mode

    def _clock_parts(self) -> Iterator[str]:
        processors = [
            clock for clock in self.clocks if clock.kind == CPU and clock.max_hz is not None
        ]
        ranges = [
            (_mhz(clock.min_hz), _mhz(clock.max_hz)) for clock in processors for _ in clock.cores
        ]
        for (lowest, highest), same in groupby(
            sorted(ranges, key=lambda limits: (limits[1], limits[0]))
        ):
            count = len(list(same))
            cores = f"{count} core{'s' if count > 1 else ''}"
            yield (
                f"{cores} up to {highest} MHz"
                if self.source == NVPMODEL
                else f"{cores} {lowest} to {highest} MHz"
            )
        gpus_hz = [
            clock.max_hz for clock in self.clocks if clock.kind == GPU and clock.max_hz is not None
        ]
        if gpus_hz:
            yield f"GPU up to {_mhz(max(gpus_hz))} MHz"

    def _switches(self) -> Iterator[str]:
        if self.clocks_locked:
            yield "clocks locked"
        if self.turbo is not None:
            yield f"turbo {'on' if self.turbo else 'off'}"
        limits_w: dict[tuple[str, str], float] = {}
        for limit in self.power_limits:
            if limit.is_of_package:  # two interfaces limit the same package; the lower limit holds
                of_package = (limit.name, limit.constraint)
                limits_w[of_package] = min(limit.limit_w, limits_w.get(of_package, limit.limit_w))
        if limits_w:
            yield "limited to " + " and ".join(f"{watts:g} W" for watts in limits_w.values())
        if self.platform_profile is not None:
            yield f"profile {self.platform_profile}"


def read_power_settings(root: Path = Path("/")) -> PowerSettings:
    """The settings of the machine below ``root``, now; never raises for a file that is missing or
    unreadable. Takes a few milliseconds."""
    clocks = read_clocks(root)
    found = _nvpmodel_settings(root) if nvpmodel.has_nvpmodel(root) else _cpufreq_settings(clocks)
    cores = online_cores(root)
    reasons = {
        **found.notes,
        "cores_online": "the kernel does not list the cores that are online",
        "clocks_locked": "the limits of the CPU's clocks cannot be read",
        "fan": "neither nvpmodel nor a fan's driver reports the fan's setting",
        "turbo": "there is no switch for turbo",
        "platform_profile": "the firmware offers no platform profiles",
    }
    values = {
        "source": found.source,
        "mode": found.mode,
        "mode_id": found.mode_id,
        "clocks_locked": _are_locked(clocks),
        "fan": found.fan or _fan(root),
        "cores_online": cores,
        "turbo": turbo(root),
        "platform_profile": read_text(root / PLATFORM_PROFILE) or None,
    }
    notes = {
        name: reasons[name] for name, value in values.items() if value is None and name in reasons
    }
    return PowerSettings(
        is_custom=found.is_custom,
        differences=found.differences,
        clocks=clocks,
        power_limits=read_power_limits(root),
        notes=notes,
        **values,  # type: ignore[arg-type]
    )


def changed_settings(before: PowerSettings, after: PowerSettings) -> tuple[str, ...]:
    """What was set differently at the later moment, one text per setting: ``policy0 max_hz:
    1800000000, then 600000000``."""
    earlier, later = _settings(before), _settings(after)
    return tuple(
        f"{name}: {earlier.get(name, 'absent')}, then {later.get(name, 'absent')}"
        for name in {**earlier, **later}
        if earlier.get(name) != later.get(name)
    )


def _settings(settings: PowerSettings) -> dict[str, object]:
    """Every setting by name, without momentary values (clocks, the fan's duty)."""
    found: dict[str, object] = {
        name: getattr(settings, name)
        for name in ("mode", "mode_id", "cores_online", "turbo", "platform_profile")
    }
    for clock in settings.clocks:
        for name in ("min_hz", "max_hz", "governor", "energy_preference"):
            found[f"{clock.name} {name}"] = getattr(clock, name)
    for limit in settings.power_limits:
        found[f"{limit.zone} {limit.constraint} limit_w"] = limit.limit_w
    return found


def _nvpmodel_settings(root: Path) -> PowerSettings:
    mode = nvpmodel.read_mode(root)
    notes = {} if mode.reason is None else {"mode": mode.reason, "mode_id": mode.reason}
    return PowerSettings(
        NVPMODEL,
        mode.name,
        mode.id,
        bool(mode.differences),
        mode.differences,
        fan=mode.fan,
        notes=notes,
    )


def _cpufreq_settings(clocks: Sequence[Clock]) -> PowerSettings:
    """Governor, with the energy preference that it follows, of each kind of core."""
    processors = [clock for clock in clocks if clock.kind == CPU and clock.governor]
    names = [
        clock.governor + (f" ({clock.energy_preference})" if clock.energy_preference else "")
        for clock in processors
        if clock.governor
    ]
    if not names:
        return PowerSettings(None, None, notes={"source": _NO_MODE, "mode": _NO_MODE})
    return PowerSettings(
        CPUFREQ,
        " and ".join(dict.fromkeys(names)),
        notes={"mode_id": "only NVIDIA's power modes have ids"},
    )


def _are_locked(clocks: Sequence[Clock]) -> bool | None:
    """Whether CPU and GPU (where there is one) have equal lower and upper limits, as jetson_clocks
    sets them; None without readable CPU limits."""
    locked = [clock.is_locked for clock in clocks if clock.kind in (CPU, GPU)]
    if not any(clock.kind == CPU for clock in clocks) or None in locked:
        return None
    return all(locked)


def _fan(root: Path) -> str | None:
    """The duty of the first fan that the kernel drives by PWM."""
    for path in natural_order((root / "sys/class/hwmon").glob("hwmon*")):
        duty = read_integer(path / "pwm1")
        if duty is not None:
            return f"pwm {duty} of 255"
    return None


def _mhz(hertz: int | None) -> int:
    return 0 if hertz is None else round(hertz / 1e6)
