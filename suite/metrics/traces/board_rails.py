"""A Jetson's rails as tegrastats and jtop log them: what the power rules say of them."""

from collections.abc import Sequence

from suite.catalog.power import Coverage, Tier, load_power_rules, totals_of_channels
from suite.errors import SuiteError
from suite.metrics.traces.columns import words_of_name
from suite.metrics.traces.head import Head
from suite.metrics.traces.logs import TEGRASTATS
from suite.metrics.traces.trace_format import Rail, TraceFormat

JTOP, JTOP_TOTAL = "Power ", ("jtop", "TOT")


def rails_of_a_board(head: Head, powers: Sequence[int]) -> tuple[Rail, ...]:
    """Of a board's rails those that the power rules add up; none for other files."""
    source = _source(head.log, [head.names[each] for each in powers])
    columns = {_channel(head.names[each]): each for each in powers}
    found = totals_of_channels(load_power_rules(), ((source, name) for name in columns))
    names = (
        found[0].channels if found else [name for name in columns if (source, name) == JTOP_TOTAL]
    )
    return tuple(Rail(power=columns[name], power_unit="mW") for name in names)


def labels_of(how: TraceFormat, covers: Coverage, tier: Tier | None) -> tuple[Coverage, Tier]:
    """What the rails cover and the kind of instrument: as stated, or where no tier is, a wall meter
    unless a board measured its own rails. Raises SuiteError where these say otherwise."""
    names = [how.names[rail.power] for rail in how.rails if rail.power is not None and how.names]
    source, channels = _source(how.log, names), list(map(_channel, names))
    found = totals_of_channels(load_power_rules(), ((source, name) for name in channels))
    rule = next((total.rule for total in found if set(total.channels) == set(channels)), None)
    is_jtop = source == JTOP_TOTAL[0] and JTOP + JTOP_TOTAL[1] in how.names
    if rule is None and how.log != TEGRASTATS and not is_jtop:
        return covers, tier or Tier.WALL_METER
    rails = " + ".join(channels)
    if rule is not None and covers != rule.coverage:
        raise SuiteError(
            f"{rails} measures the {rule.coverage.value} (`{rule.name}` in rules/power.toml), not "
            f"the {covers.value}: give --covers {rule.coverage.value}."
        )
    if tier not in (None, Tier.ON_BOARD):
        raise SuiteError(
            f"{rails} is measured by an on-board sensor, not by a {tier.value}: leave --tier out."
        )
    return covers, Tier.ON_BOARD


def _source(log: str, names: Sequence[str]) -> str:
    return log or ("jtop" if names and all(name.startswith(JTOP) for name in names) else "")


def _channel(name: str) -> str:
    return words_of_name(name.removeprefix(JTOP)).replace(" ", "_")
