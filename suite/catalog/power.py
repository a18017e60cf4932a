"""Power rules, ``rules/power.toml``: the channels of a total, what the total covers and the kind of
instrument that measures it.

Every raw channel is kept; a rule only names the channels to sum. A bundle carries the rules of its
meters (``power.json``).
"""

import enum
import fnmatch
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml

COUNTER, GAUGE = ".energy", ".power"
"""Ends of a device's channels: of its energy counter and of its reading of power."""


class Coverage(str, enum.Enum):
    """What the sensor measures, the least first."""

    CHIP = "chip"  # a processor, without its board
    CHIPS = "chips"  # the CPU and the GPU, without their board
    MODULE = "module"  # the compute module, without its carrier board
    BOARD = "board"  # the whole board, without its power adapter
    WALL = "wall"  # at the socket


class Tier(str, enum.Enum):
    """Measurement tier: kind of instrument, best first."""

    ANALYSER = "analyser"
    WALL_METER = "wall meter"
    ON_BOARD = "on-board sensor"
    ESTIMATE = "estimate"


class MachinePart(str, enum.Enum):
    """The part of the machine that a total measures. Totals of different parts do not overlap and
    may be added."""

    MACHINE = "machine"
    CPU = "cpu"
    GPU = "gpu"


@dataclass(frozen=True)
class PowerRule:
    """Rule for a power total: the sum of the channels that match ``channels``, of one of
    ``sources``.

    ``channels`` are shell patterns; each must match a channel. ``unit`` is W for power, J for an
    energy counter. ``plausible_w`` bounds the readings of one channel; below zero is possible
    because of a sensor's offset. An increase of a counter that needs more power than the upper
    bound is a gap; in bundles from before round v0.3 the reading is left out.

    The sum times ``scale`` plus ``offset_w`` is the total's power (an estimate's calibration).
    ``gain_error`` is the relative error that the total is within in 95 % of cases. ``step`` is the
    resolution of the channels of each pattern, in ``unit``; without it the smallest difference
    between readings counts. ``delay_s`` is the greatest age of a reading of each source.
    ``min_coverage`` is the share of a window that readings must cover for an energy. ``contains``
    are patterns of the same source's channels behind the total: it cannot read less than they.
    ``still_factor``: how much longer than expected a value may repeat
    (:func:`suite.metrics.liveness.plausible_readings`). ``must_agree``: no rank where another
    instrument of the same coverage differs by more than both state. Neither is in bundles from
    before round v0.3.
    """

    name: str
    sources: tuple[str, ...]
    channels: tuple[str, ...]
    coverage: Coverage
    tier: Tier
    unit: str
    plausible_w: tuple[float, ...]  # minimum, maximum
    reference: str = field(compare=False)  # a citation: in other words it is the same rule
    part: MachinePart = MachinePart.MACHINE
    gain_error: float = 1.0  # nothing is claimed for a rule that does not state it
    step: tuple[float, ...] = ()
    delay_s: tuple[float, ...] = ()
    scale: float = 1.0
    offset_w: float = 0.0
    min_coverage: float = 0.0
    contains: tuple[str, ...] = ()
    still_factor: float = 0.0
    must_agree: bool = False

    @property
    def is_before_v03(self) -> bool:
        """A bundle from before round v0.3 carries it; its figures stay as they were computed."""
        return not self.must_agree


@dataclass(frozen=True)
class PowerTotal:
    """A rule applied to readings: the source, and the channels that are summed.
    ``contradicted_by``: another source of the same whose energy differs by more than both state."""

    rule: PowerRule
    source: str
    channels: tuple[str, ...]
    contradicted_by: str | None = None

    @property
    def delay_s(self) -> float:
        """The greatest age of a reading of this source, s."""
        places = dict(zip(self.rule.sources, self.rule.delay_s, strict=False))
        return places.get(self.source, 0.0)

    def step(self, channel: str) -> float | None:
        """The channel's resolution in the rule's unit; None where the rule does not state it."""
        steps = zip(self.rule.channels, self.rule.step, strict=False)
        return next(
            (step for pattern, step in steps if fnmatch.fnmatchcase(channel, pattern)), None
        )


@dataclass(frozen=True)
class _PowerFile:
    min_coverage: float
    still_factor: Mapping[str, float]
    must_agree: bool
    total: tuple[PowerRule, ...]


def path() -> Path:
    """The file of the rules."""
    return rules_folder() / "power.toml"


@functools.cache  # a checker of many bundles reads the file once
def load_power_rules() -> tuple[PowerRule, ...]:
    """All rules, in order of preference, each with what the file says of all of them."""
    file = read_toml(path(), _PowerFile)
    return tuple(
        replace(
            rule,
            min_coverage=file.min_coverage,
            still_factor=file.still_factor[rule.unit],
            must_agree=file.must_agree,
        )
        for rule in file.total
    )


@functools.cache
def power_rules_before_v03() -> tuple[PowerRule, ...]:
    """All rules as bundles from before round v0.3 carry them, which judge neither stuck sensors nor
    instruments that contradict each other."""
    return tuple(replace(rule, still_factor=0.0, must_agree=False) for rule in load_power_rules())


def rulebook_beside(carried: Iterable[PowerRule]) -> tuple[PowerRule, ...]:
    """All rules, as those are that a bundle carries: today's, or those from before round v0.3."""
    is_before_v03 = any(rule.is_before_v03 for rule in carried)
    return power_rules_before_v03() if is_before_v03 else load_power_rules()


def power_sources(rules: Iterable[PowerRule]) -> frozenset[str]:
    """Names of the meters that measure power."""
    return frozenset(source for rule in rules for source in rule.sources)


def rules_for(rules: Iterable[PowerRule], sources: Iterable[str]) -> tuple[PowerRule, ...]:
    """The rules for any of these meters, in order of preference."""
    wanted = frozenset(sources)
    return tuple(rule for rule in rules if wanted.intersection(rule.sources))


def without_sources(rules: Iterable[PowerRule], left_out: Collection[str]) -> tuple[PowerRule, ...]:
    """The rules without some meters."""
    found = []
    for rule in rules:
        kept = [place for place, name in enumerate(rule.sources) if name not in left_out]
        sources = tuple(rule.sources[place] for place in kept)
        delays_s = tuple(rule.delay_s[place] for place in kept if place < len(rule.delay_s))
        if sources:
            found.append(replace(rule, sources=sources, delay_s=delays_s))
    return tuple(found)


def totals_of_channels(
    rules: Sequence[PowerRule], channels: Iterable[tuple[str, str]]
) -> tuple[PowerTotal, ...]:
    """All totals whose channels are among the (source, channel) pairs, in order of preference: by
    rule, then by the rule's order of sources. A sum of energy counters that lacks one of a device
    whose power is read is no total."""
    by_source: dict[str, list[str]] = {}
    for source, channel in channels:
        by_source.setdefault(source, []).append(channel)
    found = []
    for rule in rules:
        for source in rule.sources:
            names = sorted(set(by_source.get(source, [])))
            matches = [fnmatch.filter(names, pattern) for pattern in rule.channels]
            is_whole = rule.is_before_v03 or all(_is_whole(names, each) for each in rule.channels)
            if all(matches) and is_whole:
                found.append(
                    PowerTotal(
                        rule,
                        source,
                        tuple(dict.fromkeys(channel for match in matches for channel in match)),
                    )
                )
    return tuple(found)


def _is_whole(names: Sequence[str], pattern: str) -> bool:
    """Whether every device with a reading of power has the counter that the pattern sums."""
    device = pattern.removesuffix(COUNTER)
    return device == pattern or all(
        f"{name.removesuffix(GAUGE)}{COUNTER}" in names
        for name in fnmatch.filter(names, f"{device}{GAUGE}")
    )
