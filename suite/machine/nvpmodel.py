"""The power mode of a Jetson: nvpmodel's configuration and status, and whether the clocks that hold
are the mode's.

``/etc/nvpmodel.conf`` defines parameters (names for files of /sys) and modes (values for them),
``/var/lib/nvpmodel/status`` has the id of the mode that was set last. Ids and clocks differ from
module to module: MAXN_SUPER is 2 on Orin Nano and 0 on Orin NX, and a mode's watts are a name for
caps on clocks. Source: NVIDIA Jetson Linux Developer Guide, Platform Power and Performance.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import read_integer, read_integers, read_text

CONFIGURATION = "etc/nvpmodel.conf"
STATUS = "var/lib/nvpmodel/status"
_SECTION = re.compile(r"<\s*(PARAM|POWER_MODEL|PM_CONFIG|FAN_\w+)\b([^>]*)>")
_ATTRIBUTE = re.compile(r"(\w+)=(\S+)")
_STATUS = re.compile(r"pmode:\s*(\d+)(?:\s+fmode:\s*(\S+))?")
_NEWER = "_KNEXT"  # the path of the same parameter under newer kernels
_TABLES = ("scaling_available_frequencies", "available_frequencies")  # cpufreq's and devfreq's
_CAPPED = re.compile(r"CPU|GPU|EMC")  # clocks of other engines do not compute here
_TOLERANCE = 0.01


@dataclass(frozen=True)
class Model:
    """One mode of the configuration: its id, name, and settings as (parameter, argument, value);
    Jetson Linux 28 has (path, "", value). ``unread`` are its lines that are no setting."""

    id: int
    name: str
    settings: tuple[tuple[str, str, str], ...]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """``nvpmodel.conf``: the paths of each parameter's arguments, and the modes."""

    paths: Mapping[str, Mapping[str, str]]
    models: tuple[Model, ...]


@dataclass(frozen=True)
class NvpMode:
    """The mode that was set last. ``name`` is None for an id that the configuration lacks.

    ``differences`` says, per setting, where the machine is not set as the mode says; ``reason`` why
    the mode is unknown.
    """

    id: int | None
    name: str | None
    fan: str | None = None
    differences: tuple[str, ...] = ()
    reason: str | None = None


def has_nvpmodel(root: Path) -> bool:
    """Whether the machine has NVIDIA's power modes."""
    return (root / CONFIGURATION).exists() or (root / STATUS).exists()


def read_mode(root: Path) -> NvpMode:
    """The mode of the machine below ``root``; never raises for a file that is missing, unreadable
    or malformed."""
    status = read_status(root)
    if status is None:
        return NvpMode(None, None, reason=f"/{STATUS} cannot be read or does not hold pmode:<id>")
    number, fan = status
    content = read_text(root / CONFIGURATION)
    if not content:
        return NvpMode(
            number,
            None,
            fan,
            reason=f"/{CONFIGURATION}, which names mode {number}, cannot be read",
        )
    configuration = parse_configuration(content)
    model = next((model for model in configuration.models if model.id == number), None)
    if model is None:
        known = ", ".join(f"{model.id} {model.name}" for model in configuration.models) or "none"
        return NvpMode(
            number, None, fan, (f"/{CONFIGURATION} has no mode {number} (it has {known})",)
        )
    return NvpMode(number, model.name, fan, tuple(_differences(root, configuration, model)))


def read_status(root: Path) -> tuple[int, str | None] | None:
    """Id of the mode and name of the fan's mode, as in ``pmode:0002 fmode:quiet``; None when the
    file does not tell."""
    found = _STATUS.search(read_text(root / STATUS) or "")
    return None if found is None else (int(found[1]), found[2])


def parse_configuration(content: str) -> Configuration:
    """Parameters and modes of a configuration. What follows a # in a line is a comment."""
    paths: dict[str, dict[str, str]] = {}
    modes: list[tuple[int, str, list[tuple[str, str, str]], list[str]]] = []
    kind, name = "", ""
    for written in content.splitlines():
        line = written.partition("#")[0]
        section = _SECTION.match(line.strip())
        words = line.split()
        if section is not None:
            attributes = dict(_ATTRIBUTE.findall(section[2]))
            kind, name = section[1], attributes.get("NAME", "")
            if kind == "POWER_MODEL" and attributes.get("ID", "").isdigit() and name:
                modes.append((int(attributes["ID"]), name, [], []))
        elif kind == "PARAM" and len(words) == 2:
            paths.setdefault(name, {})[words[0]] = words[1]
        elif kind == "POWER_MODEL" and modes:
            if len(words) == 3:
                modes[-1][2].append((words[0], words[1], words[2]))
            elif len(words) == 2 and words[0].startswith("/"):
                modes[-1][2].append((words[0], "", words[1]))
            elif words:
                modes[-1][3].append(line.strip())
    models = (Model(*mode[:2], tuple(mode[2]), tuple(mode[3])) for mode in modes)
    return Configuration(paths, tuple(models))


def _differences(root: Path, configuration: Configuration, model: Model) -> Iterator[str]:
    """Cores online and upper clock limits that are not the mode's, and lines that are not
    understood; settings whose files cannot be read are skipped.

    Lower limits are not compared: jetson_clocks raises them, and ``clocks_locked`` tells that.
    """
    for line in model.unread:
        yield f"the line {line[:60]!r} of /{CONFIGURATION} is not understood"
    for parameter, argument, value in model.settings:
        paths = configuration.paths.get(parameter, {argument: parameter})
        found, name = _integer_at(root, paths, argument), f"{parameter} {argument}".strip()
        if found is None or not re.fullmatch(r"-?\d+", value):
            continue
        if parameter == "CPU_ONLINE" or parameter.endswith("/online"):
            if found != int(value):
                yield f"{name} is {found} instead of {value}"
        elif (argument == "MAX_FREQ" and _CAPPED.match(parameter)) or parameter.endswith(
            "max_freq"
        ):
            cap, limits = int(value), _limits(int(value), frequencies_at(root, paths))
            if (
                limits is not None
                and found > 0
                and not (1 - _TOLERANCE) * limits[0] <= found <= (1 + _TOLERANCE) * limits[1]
            ):
                yield f"{name} is {found} instead of {cap if cap > 0 else limits[1]}"


def _limits(cap: int, frequencies: tuple[int, ...]) -> tuple[int, int] | None:
    """Lowest and highest limit that the kernel may show for a mode's cap: the clock's next
    frequency below it, the cap as it was written, or the next frequency above it.

    None where that is unknown: no cap (-1 or 0) and no table of frequencies. A TX2's cap of 2000000
    kHz shows as 2035200, and its GPU's of 1120 MHz as 1134.75: `nvpmodel -q --verbose` of users.
    """
    if cap <= 0:
        return (max(frequencies), max(frequencies)) if frequencies else None
    return max((each for each in frequencies if each <= cap), default=cap), min(
        (each for each in frequencies if each >= cap), default=cap
    )


def _integer_at(root: Path, paths: Mapping[str, str], argument: str) -> int | None:
    for name in (argument, argument + _NEWER):
        found = read_integer(root / paths[name].lstrip("/")) if name in paths else None
        if found is not None:
            return found
    return None


def frequencies_at(root: Path, paths: Mapping[str, str]) -> tuple[int, ...]:
    """The frequencies of the clock that a parameter's paths name: its table, else the one that the
    kernel has beside the limit; empty without."""
    named = [paths[name] for name in ("FREQ_TABLE", "FREQ_TABLE" + _NEWER) if name in paths]
    limits = [paths[name] for name in ("", "MAX_FREQ", "MAX_FREQ" + _NEWER) if name in paths]
    beside = [f"{limit.rpartition('/')[0]}/{name}" for limit in limits for name in _TABLES]
    for table in (*named, *beside):
        found = read_integers(root / table.lstrip("/"))
        if found:
            return found
    return ()
