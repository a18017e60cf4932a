"""``power.json``: the power rules for a bundle's energies, and the totals among its channels that
count."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from suite.bundle.arrays import Window
from suite.bundle.channels import Channels
from suite.bundle.layout import POWER, SCHEMA
from suite.bundle.reader import Bundle
from suite.catalog.power import (
    Coverage,
    MachinePart,
    PowerRule,
    PowerTotal,
    Tier,
    load_power_rules,
    power_rules_before_v03,
    rules_for,
    totals_of_channels,
    without_sources,
)
from suite.errors import FileError, SuiteError
from suite.files.json_file import write_json
from suite.files.schema import from_plain
from suite.metrics.energy import Energy, energy_of, refuted, with_rails_behind


@dataclass(frozen=True)
class _PowerFile:
    schema: int
    rules: tuple[PowerRule, ...]


def write_power_rules(path: Path, sources: Iterable[str]) -> None:
    """Write the rulebook's rules for these meters to ``power.json`` in the bundle at ``path``."""
    write_json(
        path / POWER,
        {
            "schema": SCHEMA,
            "rules": [asdict(rule) for rule in rules_for(load_power_rules(), sources)],
        },
    )


def power_rules(bundle: Bundle) -> tuple[PowerRule, ...]:
    """The rules that the bundle carries; for bundles of schema 1, which carry none, the rulebook's
    as they were before round v0.3.

    Raises FileError when the file is malformed.
    """
    return bundle.cached("power rules", lambda: _read_rules(bundle))


def _read_rules(bundle: Bundle) -> tuple[PowerRule, ...]:
    path = bundle.path / POWER
    if not path.exists():
        return power_rules_before_v03() if bundle.is_first_schema else load_power_rules()
    values = bundle.json(POWER)
    try:
        return from_plain(values, _PowerFile, "").rules
    except SuiteError as error:
        raise FileError(path, f"does not hold power totals ({str(error)[:200]})") from error


def counted_rules(bundle: Bundle) -> tuple[PowerRule, ...]:
    """The rules by which the bundle's energies are computed: without the meters that somebody left
    out."""
    return without_sources(power_rules(bundle), bundle.run().meters_left_out or ())


@dataclass(frozen=True)
class MeasuredTotal:
    """A total that was read, and its energy in a window."""

    total: PowerTotal
    energy: Energy


def measure_totals(
    channels: Channels, rules: Sequence[PowerRule], window: Window
) -> tuple[MeasuredTotal, ...]:
    """Every total whose channels were all read, with its energy in the window, in order of
    preference.

    A total of the machine that reads less than its CPU and GPU together does not contain them: it
    has no energy, with the reason. A total that another instrument of the same contradicts has
    ``contradicted_by``.
    """
    # an energy by a rule from before round v0.3 was not compared with the rails behind it
    measured = [
        MeasuredTotal(
            total, with_rails_behind(energy_of(channels, total, *window), channels, total, window)
        )
        for total in _totals_read(channels, rules)
    ]
    chips = _best_of_parts(measured)
    least_j = sum(_bounds(one)[0] for one in chips)
    measured = [_without_contradiction(one, least_j, chips) for one in measured]
    return tuple(_with_contradiction(one, measured) for one in measured)


def totals_that_count(measured: Sequence[MeasuredTotal]) -> tuple[PowerTotal, ...]:
    """The totals whose energies are added: the first that has an energy; if it measures one part of
    the machine, the best of each part.

    Where none has an energy, the first; its reason is the figure's. Empty without any.
    """
    usable = [one for one in measured if one.energy.energy_j is not None]
    if not usable:
        return tuple(one.total for one in measured[:1])
    if usable[0].total.rule.part is MachinePart.MACHINE:
        return (usable[0].total,)
    return tuple(one.total for one in _best_of_parts(usable))


def power_totals(
    channels: Channels, rules: Sequence[PowerRule], window: Window | None
) -> tuple[PowerTotal, ...]:
    """The totals that count in a window; without one (an unfinished run), in the time of all
    readings."""
    span = window or channels.span_ns
    if span is None:
        return ()
    found = _totals_read(channels, rules)
    # an only total counts whatever its energy is
    return found if len(found) < 2 else totals_that_count(measure_totals(channels, rules, span))


def _totals_read(channels: Channels, rules: Sequence[PowerRule]) -> tuple[PowerTotal, ...]:
    """The totals whose channels were all read, in order of preference."""
    names = ((channel.source, channel.name) for channel in channels)
    return tuple(totals_of_channels(rules, names))


def _best_of_parts(measured: Sequence[MeasuredTotal]) -> list[MeasuredTotal]:
    """The first total with an energy of each part but the whole machine."""
    best: dict[MachinePart, MeasuredTotal] = {}
    for one in measured:
        if one.energy.energy_j is not None and one.total.rule.part is not MachinePart.MACHINE:
            best.setdefault(one.total.rule.part, one)
    return list(best.values())


def _bounds(one: MeasuredTotal) -> tuple[float, float]:
    """The energy less and plus its accuracy, J; both 0 without an energy."""
    energy_j, error = one.energy.energy_j or 0.0, one.total.rule.gain_error
    return energy_j * (1 - error), energy_j * (1 + error)


def _without_contradiction(
    one: MeasuredTotal, least_j: float, chips: Sequence[MeasuredTotal]
) -> MeasuredTotal:
    if (
        one.total.rule.part is not MachinePart.MACHINE
        or one.energy.energy_j is None
        or _bounds(one)[1] >= least_j
    ):
        return one
    names = " and ".join(chip.total.rule.name for chip in chips)
    energy_j = sum(chip.energy.energy_j or 0.0 for chip in chips)
    return replace(one, energy=refuted(one.energy, names, energy_j))


def _with_contradiction(one: MeasuredTotal, measured: Sequence[MeasuredTotal]) -> MeasuredTotal:
    """The total, with the instrument of the same that differs from it by more than both state:
    nobody knows which is right, but that an estimate gives way to a meter."""
    other = next((other for other in measured if energies_contradict(one, other)), None)
    if other is None or not one.total.rule.must_agree:
        return one
    if one.total.rule.tier is Tier.ESTIMATE and other.total.rule.tier is not Tier.ESTIMATE:
        reason = (
            f"it estimated {one.energy.energy_j:.4g} J, and {other.total.source} measured"
            f" {other.energy.energy_j:.4g} J of the same {one.total.rule.coverage.value}"
        )
        return replace(one, energy=replace(one.energy, value=None, reason=reason, uncertainty=None))
    return replace(one, total=replace(one.total, contradicted_by=other.total.source))


def energies_contradict(one: MeasuredTotal, other: MeasuredTotal) -> bool:
    """Whether the energies of two instruments of the same differ by more than both state: their
    accuracies, steps, ages, gaps and clocks together. No estimate contradicts a measurement: that
    of a Raspberry Pi 5 misses what hangs at its USB ports."""
    first, second = one.total, other.total
    if (
        first.source == second.source
        or (second.rule.tier is Tier.ESTIMATE and first.rule.tier is not Tier.ESTIMATE)
        or (first.rule.coverage, first.rule.part) != (second.rule.coverage, second.rule.part)
        or one.energy.energy_j is None
        or other.energy.energy_j is None
    ):
        return False
    apart_j = abs(one.energy.energy_j - other.energy.energy_j)
    return apart_j > _stated_j(one.energy) + _stated_j(other.energy)


def _stated_j(energy: Energy) -> float:
    """The half-width of an energy's interval, J; without what power between readings adds where
    that is unknown."""
    known = energy.uncertainty
    half_j = None if known is None else replace(known, sampling=known.sampling or 0.0).half_width
    return half_j or 0.0


def combined_coverage(chosen: Sequence[PowerTotal]) -> Coverage:
    """What totals that are added cover; raises IndexError without any."""
    return (
        chosen[0].rule.coverage
        if len({total.rule.part for total in chosen}) == 1
        else Coverage.CHIPS
    )


def describe_totals(chosen: Sequence[PowerTotal]) -> str:
    """Instruments, rules, coverage and tier of totals that are added, as text."""
    names = " + ".join(f"{total.source}: {total.rule.name}" for total in chosen)
    return f"{names} ({combined_coverage(chosen).value}, {worst_tier(chosen).value})"


def worst_tier(chosen: Sequence[PowerTotal]) -> Tier:
    """The tier of the worst instrument of totals that are added."""
    return max((total.rule.tier for total in chosen), key=list(Tier).index)


def channel_names(chosen: Sequence[PowerTotal]) -> tuple[tuple[str, str], ...]:
    """Source and name of each channel of totals."""
    return tuple((total.source, name) for total in chosen for name in total.channels)
