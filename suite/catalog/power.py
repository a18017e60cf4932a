"""Power totals, ``rules/power.toml``: which channels add up, what the total covers and what kind of instrument measures it.

Every raw channel is kept; a rule only names what is added up. A bundle carries the rules that its energies were computed by (``power.json``).
"""

import enum
import fnmatch
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
    """Kind of instrument, best first."""

    ANALYSER = "analyser"
    WALL_METER = "wall meter"
    ON_BOARD = "on-board sensor"
    ESTIMATE = "estimate"


@dataclass(frozen=True)
class PowerRule:
    """A total: the sum of the channels that match ``channels`` (shell patterns, each must match one) of the first of ``sources`` that has them.

    ``unit`` is W for power, J for an energy counter. ``plausible_w`` bounds one channel's readings: a rail may read a little below zero by
    its sensor's offset; a counter's reading is left out when reaching it would take more power than the upper bound.
    """

    name: str
    sources: tuple[str, ...]
    channels: tuple[str, ...]
    coverage: Coverage
    tier: Tier
    unit: str
    plausible_w: tuple[float, ...]  # lowest, highest
    reference: str


@dataclass(frozen=True)
class PowerTotal:
    """A rule applied to what was read: the source, and the channels that are added up."""

    rule: PowerRule
    source: str
    channels: tuple[str, ...]


@dataclass(frozen=True)
class _PowerFile:
    total: tuple[PowerRule, ...]


def path(root: Path | None = None) -> Path:
    """Where the totals are defined."""
    return (root or repository_root()) / "rules" / "power.toml"


def load_power_rules(root: Path | None = None) -> tuple[PowerRule, ...]:
    """Every rule, in order of preference."""
    return read_toml(path(root), _PowerFile).total


def power_sources(rules: Iterable[PowerRule]) -> frozenset[str]:
    """Names of the meters that measure power."""
    return frozenset(source for rule in rules for source in rule.sources)


def rules_for(rules: Iterable[PowerRule], sources: Iterable[str]) -> tuple[PowerRule, ...]:
    """The rules that apply to any of these meters, in order of preference."""
    wanted = frozenset(sources)
    return tuple(rule for rule in rules if wanted.intersection(rule.sources))


def totals(rules: Sequence[PowerRule], channels: Iterable[tuple[str, str]]) -> tuple[PowerTotal, ...]:
    """Every total that (source, channel) pairs allow, in order of preference."""
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
