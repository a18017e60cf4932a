"""Logs that are no tables (tegrastats, Tasmota's sensor messages), line by line as rows of one."""

import json
import re
from collections.abc import Iterable, Sequence

DELIMITER = "\t"
TEGRASTATS, TASMOTA = "tegrastats", "Tasmota"
# "POM_5V_IN 1022/1022", "VDD_IN 5079mW/5079mW", "VIN 124486mW/36487mW/124486mW", "VDD_IN 3913mW"
RAIL = re.compile(r"(?<!\S)([A-Z][A-Z0-9_]*) (-?\d+)(?:(?:mW)?(?:/-?\d+(?:mW)?)+|mW)(?!\S)")
STAMP = re.compile(r"(.*\d:\d\d\S*) RAM ")
ENERGY = '"ENERGY"'
MAX_CHANNELS = 16
RAIL_UNIT = " [mW]"


def kind_of(lines: Sequence[str]) -> str:
    """TEGRASTATS, TASMOTA, or "" for a table."""
    if sum(" RAM " in f" {line}" and bool(RAIL.search(line)) for line in lines) > len(lines) / 2:
        return TEGRASTATS
    return TASMOTA if any(ENERGY in line.partition("{")[2] for line in lines) else ""


def log_names(kind: str, lines: Iterable[str]) -> tuple[str, ...]:
    """The table's columns."""
    if kind == TASMOTA:
        return ("time", "topic", "power [W]")
    first = next(line for line in lines if RAIL.search(line))
    rails = [name + RAIL_UNIT for name, _ in RAIL.findall(first)]
    return ("time", *rails) if STAMP.match(first) else tuple(rails)


def log_table(kind: str, text: str, names: Sequence[str]) -> str:
    """A log's lines as rows of the columns ``names``; other lines are left out."""
    row = _tasmota if kind == TASMOTA else _tegrastats
    return "".join(
        DELIMITER.join(found[name] for name in names) + "\n"
        for line in text.splitlines()
        for found in row(line)
        if found.keys() >= set(names)
    )


def _tegrastats(line: str) -> list[dict[str, str]]:
    stamp = STAMP.match(line)
    rails = {name + RAIL_UNIT: milliwatts for name, milliwatts in RAIL.findall(line)}
    return [{**rails, "time": stamp[1]} if stamp else rails]


def _tasmota(line: str) -> list[dict[str, str]]:
    """A row for each channel of the plug."""
    topic, _, rest = line.partition("{")
    message, end, _ = rest.rpartition("}")
    try:
        sent = json.loads("{" + message + end) if ENERGY in message else {}
        of_channels = sent["ENERGY"]["Power"]
        words = topic.rstrip(" \t=:").split()
        name = words[-1].removesuffix("/SENSOR") if words else ""
        powers = {name: of_channels}
        if isinstance(of_channels, list):
            numbered = enumerate(of_channels[:MAX_CHANNELS], start=1)
            powers = {f"{name} channel {number}".strip(): each for number, each in numbered}
        return [
            {"time": str(sent["Time"]), "topic": each, "power [W]": f"{float(power_w)}"}
            for each, power_w in powers.items()
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
