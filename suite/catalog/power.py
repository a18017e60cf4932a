"""Power rules, ``rules/power.toml``: the channels of a total, what the total covers and the kind of instrument that measures it.

Every raw channel is kept; a rule only names the channels to sum. A bundle carries the rules of its meters (``power.json``).
"""

import enum
import fnmatch
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.files.paths import repository_root
from suite.files.toml_file import read_toml


class Coverage(str, enum.Enum):
    """What the sensor measures."""

    CHIP = "chip"  # a processor, without its board
    MODULE = "module"  # the compute module, without its carrier board
    BOARD = "board"  # the whole board, without its power adapter
    WALL = "wall"  # at the socket


class Tier(str, enum.Enum):
    """Measurement tier: kind of instrument, best first."""

    ANALYSER = "analyser"
    WALL_METER = "wall meter"
    ON_BOARD = "on-board sensor"
    ESTIMATE = "estimate"


@dataclass(frozen=True)
class PowerRule:
    """Rule for a power total: the sum of the channels that match ``channels``, of the first of ``sources`` that has them.

    ``channels`` are shell patterns; each must match a channel. ``unit`` is W for power, J for an energy counter. ``plausible_w`` bounds the
    readings of one channel; below zero is possible because of a sensor's offset. A counter's reading is left out if its increase needs more
    power than the upper bound.
    """

    name: str
    sources: tuple[str, ...]
    channels: tuple[str, ...]
    coverage: Coverage
    tier: Tier
    unit: str
    plausible_w: tuple[float, ...]  # minimum, maximum
    reference: str


@dataclass(frozen=True)
class PowerTotal:
    """A rule applied to readings: the source, and the channels that are summed."""

    rule: PowerRule
    source: str
    channels: tuple[str, ...]


@dataclass(frozen=True)
class _PowerFile:
    total: tuple[PowerRule, ...]


def path(root: Path | None = None) -> Path:
    """The file of the rules."""
    return (root or repository_root()) / "rules" / "power.toml"


@functools.cache  # a checker of many bundles reads the file once
def load_power_rules(root: Path | None = None) -> tuple[PowerRule, ...]:
    """All rules, in order of preference."""
    return read_toml(path(root), _PowerFile).total


def power_sources(rules: Iterable[PowerRule]) -> frozenset[str]:
    """Names of the meters that measure power."""
    return frozenset(source for rule in rules for source in rule.sources)


def rules_for(rules: Iterable[PowerRule], sources: Iterable[str]) -> tuple[PowerRule, ...]:
    """The rules for any of these meters, in order of preference."""
    wanted = frozenset(sources)
    return tuple(rule for rule in rules if wanted.intersection(rule.sources))


def totals(rules: Sequence[PowerRule], channels: Iterable[tuple[str, str]]) -> tuple[PowerTotal, ...]:
    """All totals whose channels are among the (source, channel) pairs, in order of preference."""
    by_source: dict[str, list[str]] = {}
    for source, channel in channels:
        by_source.setdefault(source, []).append(channel)
    found = []
    for rule in rules:
        for source in rule.sources:
            matches = [fnmatch.filter(sorted(set(by_source.get(source, []))), pattern) for pattern in rule.channels]
            if all(matches):
                found.append(PowerTotal(rule, source, tuple(dict.fromkeys(channel for match in matches for channel in match))))
                break
    return tuple(found)
