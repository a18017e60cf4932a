"""Power readings: of a meter that measures a machine under load, and of the idle machine before
it."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import chain, combinations

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.attached import SOURCE as ATTACHED
from suite.bundle.channels import Channel
from suite.bundle.data_record import DATA, read_data_record
from suite.bundle.layout import POWER, RUN
from suite.catalog.power import (
    PowerRule,
    PowerTotal,
    Tier,
    load_power_rules,
    rulebook_beside,
    rules_for,
)
from suite.compliance.evidence import repeated_block
from suite.compliance.finding import Severity
from suite.compliance.node_context import NodeContext
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import joined_names
from suite.files.counted import counted
from suite.metrics.power_totals import (
    energies_contradict,
    measure_totals,
    power_rules,
    power_totals,
)

ORDER = 86  # before plausibility, which sums power by these rules

# recorded rails of a Jetson, in steps of 0.4 W, repeat a value for 18 s, their sum for 6 s
MIN_READINGS, MIN_POWER_W = 50, 0.5
MIN_RISES_OF_LINE, MIN_SCATTER = 20, 1e-4
"""Of the power between readings of an energy counter: no load is as even, since temperature alone
changes a chip's leakage by more."""
# plugs state 0.1 W or 1 W and may repeat a value; what a table's meter resolves is unknown
COARSE = ("shelly", "tasmota", "meter-csv", ATTACHED)
BLOCK, DISTINCT = 16, 10
IDLE_BLOCK, IDLE_DISTINCT = 10, 8
MIN_CLIPPED, MAX_CLIPPED_SHARE, MORE_THAN_OTHERS = 5, 0.03, 3.0
"""At the largest value: one reading of 59 to 395 in honest runs with such meters."""
MAX_STEP_SHARE = 0.01
"""Of the mean power: a coarser sensor reads the largest of a steady load's few values most of the
time."""
MAX_STRAIGHT_SHARE, STRAIGHT_W = 0.4, 1e-9
"""Of three readings in a row, those with equal steps that are not nought: a tenth of a sensor's
with three values; half if filled in."""
# readings with the idle machine's; that as many of a finer meter are whole steps by chance is
# unlikely: 1e-5
MIN_RESOLVED = 5
DECIMAL_STEPS_W = (100.0, 10.0, 1.0, 0.1)
MIN_FACTORS, MAX_DIRECT_V = 10, 60.0
DIRECT_SLACK, DIRECT_STEP_A, MAINS_SLACK, MAINS_STEP_A = 0.05, 0.002, 0.15, 0.01
"""Of voltage times current. Plugs are calibrated for each of the three by itself, and are wrong by
milliamperes where little flows."""
MIN_RISES, COUNTER_SLACK, COUNTER_STEP_J = 3, 0.05, 3.6
"""A counter of thousandths of a watt-hour that rises once a second or a minute; it may have risen
at any time since the reading before."""
# three readings, each at a random moment of its second, lie a second apart at the least
MIN_IDLE_S, MIN_IDLE_READINGS = 1.0, 3
MAX_IDLE_AGE_S = 300.0  # emptying the page cache and starting the recorder takes seconds


def _check_power_rules(context: BundleContext) -> Violations:
    """Check that the rules in power.json are the rulebook's, in its order, and that none for a
    meter that was read is missing."""
    if not (context.bundle.path / POWER).exists():
        if context.run.schema == 1:  # carried no rules: the rulebook's are applied
            return
        yield Violation(POWER, "the power totals of the meters that were read", "no such file")
        return
    carried = power_rules(context.bundle)
    rulebook = rulebook_beside(carried) if context.round.is_before_v03 else load_power_rules()
    for rule in carried:
        if rule not in rulebook:
            yield Violation(
                POWER,
                "power totals as in rules/power.toml",
                f"the total {rule.name[:80]!r} with {_difference(rule, rulebook)}",
            )
    sources = {channel.source for node in context.nodes for channel in node.channels}
    for rule in rules_for(rulebook, sources):
        if rule not in carried:
            yield Violation(
                POWER, f"the power total {rule.name!r}, because its meter was read", "no such total"
            )
    known = [rulebook.index(rule) for rule in carried if rule in rulebook]
    if known != sorted(set(known)):
        observed = joined_names([rulebook[place].name for place in known])
        yield Violation(
            POWER,
            "each power total once, in the order of rules/power.toml",
            f"the order {observed}",
        )


def _difference(rule: PowerRule, rulebook: Sequence[PowerRule]) -> str:
    """The fields in which a rule differs from the rulebook's of the same name."""
    own = next((each for each in rulebook if each.name == rule.name), None)
    if own is None:
        return "a name that is not in rules/power.toml"
    different = [
        field.name
        for field in fields(rule)
        if field.compare and getattr(rule, field.name) != getattr(own, field.name)
    ]
    return "; ".join(
        f"{name} = {getattr(rule, name)!s} instead of {getattr(own, name)!s}" for name in different
    )[:300]


def _units(context: BundleContext) -> Violations:
    for node, unit, channel in _power_channels(context):
        if channel.unit != unit:
            yield Violation(
                node.file,
                f"{channel.source} {channel.name} in {unit}, the unit of its power total",
                f"in {channel.unit!r}",
            )


def _varies(context: BundleContext) -> Violations:
    """Check each channel of the reported total; sensors with coarse steps may repeat a value while
    nothing changes on their rail."""

    yield from _even(context)
    for node, window in context.nodes_in_run():
        for total in power_totals(node.channels, context.power_rules, window):
            if total.rule.unit != "W" or total.source in COARSE:
                continue
            channels = [channel.during(window) for channel in node.summed(total)]
            is_fine = len(channels) == 1 or any(map(_is_fine, channels))
            for channel in channels if is_fine else ():
                if (
                    len(channel) >= MIN_READINGS
                    and channel.mean >= MIN_POWER_W
                    and channel.minimum == channel.maximum
                ):
                    yield Violation(
                        node.file,
                        f"readings of {channel.source} {channel.name} that vary under load",
                        f"{channel.minimum:g} W in all {len(channel)} readings",
                    )


def _even(context: BundleContext) -> Violations:
    """Check that energy counters do not rise along a straight line."""
    for node, counter in _in_run(context, "J"):
        passed_s = counter.gaps_s
        if counter.source in COARSE or len(counter) <= MIN_RISES_OF_LINE:
            continue
        if not (passed_s > 0).all():
            continue  # readings-in-order reports it
        powers_w = np.diff(counter.values) / passed_s
        mean_w = float(powers_w.mean())
        if mean_w >= MIN_POWER_W and float(powers_w.max() - powers_w.min()) <= MIN_SCATTER * mean_w:
            yield Violation(
                node.file,
                f"power that varies under load, computed from {counter.source} {counter.name}",
                f"the same {mean_w:.4g} W from every reading to the next, in {len(counter)}"
                " readings",
            )


def _is_fine(channel: "Channel") -> bool:
    """Hardly any value occurs twice: the sensor resolves more than its noise."""

    return len(channel) >= MIN_READINGS and len(np.unique(channel.values)) > len(channel) / 2


def _check_repeated_readings(context: BundleContext) -> Violations:
    """Check that no sequence of readings of the run occurs twice."""

    for node, unit, channel in _power_channels(context):
        places = repeated_block(channel.values, BLOCK, DISTINCT) if unit == "W" else None
        if places is not None:
            yield Violation(
                node.file,
                f"no sequence of {BLOCK} consecutive readings of {channel.source} {channel.name}"
                " that occurs a second time",
                f"readings {places[1] + 1} to {places[1] + BLOCK} repeat readings {places[0] + 1}"
                f" to {places[0] + BLOCK}",
            )


def _unclipped(context: BundleContext) -> Violations:
    """Check that a finely resolved power channel does not stand at its largest value in many
    readings, where no other value occurs as often."""

    for node, channel in _in_run(context, "W"):
        values = channel.known
        if len(values) < MIN_READINGS:
            continue
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) < 3:
            continue
        at_most, others = int(counts[-1]), int(counts[:-1].max())
        most = max(
            MIN_CLIPPED - 1, int(MAX_CLIPPED_SHARE * len(values)), int(MORE_THAN_OTHERS * others)
        )
        if at_most > most and _step_w(context, node, channel) <= MAX_STEP_SHARE * channel.mean:
            yield Violation(
                node.file,
                f"at most {most} readings of {channel.source} {channel.name} that equal the"
                " largest one",
                f"{distinct[-1]:g} W in {at_most} of {len(values)} readings; no other value in"
                f" more than {others} of them",
            )


def _step_w(context: BundleContext, node: NodeContext, channel: Channel) -> float:
    """What a channel resolves: the step that its power rule states, else the smallest difference
    between its values."""
    stated_w = (
        total.step(channel.name)
        for total in node.totals(context.power_rules)
        if total.source == channel.source
    )
    return next(filter(None, stated_w), None) or float(np.diff(np.unique(channel.known)).min())


def _idle_own(context: BundleContext) -> Violations:
    """Check that the idle machine's readings do not occur again in the run, in the same order."""

    for node, unit, channel in _power_channels(context):
        idle = node.idle.get(channel.source, channel.name)
        if unit != "W" or len(idle) < IDLE_BLOCK:
            continue
        places = repeated_block(
            np.concatenate([idle.values, channel.values]), IDLE_BLOCK, IDLE_DISTINCT
        )
        if places is not None and places[0] < len(idle) <= places[1]:
            yield Violation(
                node.idle_file,
                f"no {IDLE_BLOCK} consecutive readings of the idle machine by {channel.source}"
                f" {channel.name} that occur again in the run",
                f"readings {places[0] + 1} to {places[0] + IDLE_BLOCK} equal the run's readings"
                f" {places[1] - len(idle) + 1} to {places[1] - len(idle) + IDLE_BLOCK}",
            )


def _own_values(context: BundleContext) -> Violations:
    """Check that a power channel's readings are rarely on a straight line with both neighbours;
    loggers of other programs may fill in values."""

    for node, channel in _in_run(context, "W"):
        steps_w = np.diff(channel.values)
        if channel.source in COARSE or len(steps_w) < MIN_READINGS:
            continue
        is_straight = (np.abs(np.diff(steps_w)) <= STRAIGHT_W) & (np.abs(steps_w[1:]) > STRAIGHT_W)
        count, places = int(is_straight.sum()), len(is_straight)
        if count > MAX_STRAIGHT_SHARE * places:
            yield Violation(
                node.file,
                f"at most {MAX_STRAIGHT_SHARE:.0%} of the readings of {channel.source}"
                f" {channel.name} to be the mean of the reading before and the reading after",
                f"{count} of {places} are that mean; the first is reading"
                f" {int(is_straight.argmax()) + 2} of the run",
            )


def _resolved(context: BundleContext) -> Violations:
    """Check the decimal step of an analyser's readings against the error that its total
    promises."""

    for node in context.nodes:
        for total in node.totals(context.power_rules):
            if total.rule.tier is not Tier.ANALYSER or total.rule.unit != "W":
                continue
            for channel in node.summed(total):
                known = np.concatenate(
                    [channel.known, node.idle.get(channel.source, channel.name).known]
                )
                step_w = next(
                    (
                        step_w
                        for step_w in DECIMAL_STEPS_W
                        if np.allclose(known / step_w, np.round(known / step_w), rtol=0, atol=1e-6)
                    ),
                    0.0,
                )
                error_w = total.rule.gain_error * channel.mean
                if len(known) >= MIN_RESOLVED and step_w / 2 > error_w > 0:
                    yield Violation(
                        node.file,
                        f"a resolution of {2 * error_w:.3g} W or finer: twice an analyser's error,"
                        f" which is {total.rule.gain_error:.0%} of the mean power",
                        f"a resolution of {step_w:g} W in {channel.source} {channel.name}",
                    )


def _powers(context: BundleContext) -> "Iterator[tuple[NodeContext, Channel]]":
    """Every meter's own power, with its node."""
    for node in context.nodes:
        yield from (
            (node, channel)
            for channel in node.channels
            if channel.name == "power" and channel.unit == "W"
        )


def _own_factors(context: BundleContext) -> Violations:
    """Check each meter's power against its own voltage and current: of direct current their
    product, else at most that."""
    for node, power in _powers(context):
        volts, amperes = (
            node.channels.get(power.source, name).in_time for name in ("voltage", "current")
        )
        count = len(volts)
        if count < MIN_FACTORS or len(amperes) != count or len(power) != count:
            continue
        power_w = float(power.values.mean())
        product_w = float((volts.values * amperes.values).mean())
        is_direct = float(volts.maximum) < MAX_DIRECT_V
        share, amperes_off = (
            (DIRECT_SLACK, DIRECT_STEP_A) if is_direct else (MAINS_SLACK, MAINS_STEP_A)
        )
        slack_w = share * product_w + amperes_off * float(volts.values.mean())
        if power_w > product_w + slack_w or (is_direct and power_w < product_w - slack_w):
            yield Violation(
                node.file,
                f"a mean power of {product_w - slack_w if is_direct else 0:.2f} to"
                f" {product_w + slack_w:.2f} W, computed from voltage and current of"
                f" {power.source}",
                f"a mean power of {power_w:.2f} W in {count} readings",
            )


def _own_counter(context: BundleContext) -> Violations:
    """Check each meter's power against its own energy counter, from the first time that the counter
    rises to the last."""
    for node, power in _powers(context):
        energy = node.channels.get(power.source, "energy").in_time
        rises = (energy.values[1:] > energy.values[:-1]).nonzero()[0] + 1
        if energy.unit != "J" or len(rises) < MIN_RISES:
            continue
        first, last = int(rises[0]), int(rises[-1])
        during = power.during((int(energy.t_ns[first]), int(energy.t_ns[last])))
        length_s = float(energy.t_ns[last] - energy.t_ns[first]) * SECONDS_PER_NS
        late_s = (
            max(float(energy.t_ns[place] - energy.t_ns[place - 1]) for place in (first, last))
            * SECONDS_PER_NS
        )
        if len(during) < MIN_FACTORS:
            continue
        counted_j = float(energy.values[last] - energy.values[first])
        read_j = during.mean * length_s
        slack_j = COUNTER_SLACK * counted_j + late_s * during.maximum + COUNTER_STEP_J
        if abs(counted_j - read_j) > slack_j:
            yield Violation(
                node.file,
                f"an energy of {counted_j:.1f} J ± {slack_j:.1f} J, by which the energy counter of"
                f" {power.source} rose in {length_s:.1f} s",
                f"{read_j:.1f} J, computed from the power of {power.source}",
            )


def _idle_measured(context: BundleContext) -> Violations:

    for node in context.nodes:
        totals = power_totals(node.channels, context.power_rules, context.window)
        lacking = [total for total in totals if not _is_measured_idle(node, total)]
        if lacking:
            yield Violation(
                node.idle_file,
                "readings of the idle machine's power by"
                f" {' and '.join(total.source for total in lacking)}, which measured the run",
                "no reading",
            )


def _is_measured_idle(node: NodeContext, total: PowerTotal) -> bool:
    """Whether a total was read before the run, too; in place of a trace that is attached after the
    run, anything."""
    if total.source == ATTACHED:
        return len(node.idle) > 0
    return all(len(node.idle.get(total.source, name)) for name in total.channels)


def _idle_meter(context: BundleContext) -> Violations:
    """Check that the idle machine was measured by meters of the run."""
    power = set(chain.from_iterable(rule.sources for rule in context.power_rules))
    for node in context.nodes:
        read = {channel.source for channel in node.channels}
        for source in sorted({channel.source for channel in node.idle} - read - {"cpu"}):
            yield Violation(
                node.idle_file,
                "the idle machine's power, measured by a meter that also measured the run's power"
                f" ({', '.join(sorted(read & power)) or 'there was none'})",
                f"measured by {source!r}",
            )


def _metered(context: BundleContext) -> Violations:
    """Check that every meter that read the idle machine was there during the run."""
    for node in context.nodes:
        records = node.meter_records.items()
        available = {name for name, record in records if record.get("available") is True}
        for source in sorted({channel.source for channel in node.idle} - available):
            yield Violation(
                node.idle_file,
                f"{source} among the available meters in {node.meters_file}, because {source} read"
                " the idle machine",
                f"{source} is missing there, or was not available",
                fix=f"connect {source} for the whole run, then run again",
            )


def _idle_window(context: BundleContext) -> Violations:
    """Check length of the idle machine's power readings, and their age as the run begins, on the
    same clock."""
    for node in context.nodes:
        idle = [channel for channel in node.idle if channel.source != "cpu"]
        if not idle or node.channels.span_ns is None:
            continue
        firsts_ns, lasts_ns = zip(*(channel.ends_ns for channel in idle), strict=True)
        first_ns, last_ns = min(firsts_ns), max(lasts_ns)
        length_s = (last_ns - first_ns) * SECONDS_PER_NS
        begin_ns, begin = _begins(context, node, node.channels.span_ns[0])
        age_s = (begin_ns - last_ns) * SECONDS_PER_NS
        if length_s < MIN_IDLE_S or max(map(len, idle)) < MIN_IDLE_READINGS:
            yield Violation(
                node.idle_file,
                f"at least {MIN_IDLE_READINGS} readings of the idle machine, over at least"
                f" {MIN_IDLE_S:g} s",
                f"{counted(max(map(len, idle)), 'reading')} over {length_s:.2f} s",
            )
        if age_s > MAX_IDLE_AGE_S:
            yield Violation(
                node.idle_file,
                f"the idle machine's last reading at most {MAX_IDLE_AGE_S:g} s before {begin}",
                f"{age_s:.0f} s before it",
                fix=READINGS_AS_READ,
            )


def _begins(context: BundleContext, node: NodeContext, first_ns: int) -> tuple[int, str]:
    """When a run begins on a node, and with what: its first reading; on the harness's node earlier,
    since the harness reads the data and then waits for the other nodes' idle power."""
    begins = [(first_ns, "the run's first reading")]
    if node is context.nodes[0] and (context.bundle.path / DATA).exists():
        taken_ns = read_data_record(context.bundle).taken_ns
        begins.append((taken_ns, f"the harness began to read the data (taken_ns in {DATA})"))
    return min(begins)


def _contradicted(context: BundleContext) -> Violations:
    for node, window in context.nodes_in_run():
        measured = measure_totals(node.channels, context.power_rules, window)
        seen = set()
        for pair in combinations(measured, 2):
            first, second = sorted(pair, key=lambda one: one.total.source)
            sources, rule = f"{first.total.source} and {second.total.source}", first.total.rule
            place = (sources, rule.coverage, rule.part)
            if rule.must_agree and place not in seen and energies_contradict(*pair):
                seen.add(place)
                yield Violation(
                    node.file,
                    f"the energies by {sources}, both with the coverage {rule.coverage.value!r},"
                    " to differ by at most the sum of their uncertainties",
                    f"{first.energy.energy_j:.4g} J and {second.energy.energy_j:.4g} J",
                )


def _left_out(context: BundleContext) -> Violations:
    for meter, reason in (context.run.meters_left_out or {}).items():
        yield Violation(
            RUN,
            f"energies computed from all meters that were read, including {meter}",
            f"{meter} left out; the submitter's reason: {reason}",
        )


def _power_channels(context: BundleContext) -> "Iterator[tuple[NodeContext, str, Channel]]":
    """Every channel that a power rule adds up, with the rule's unit."""
    for node in context.nodes:
        seen = set()
        for total in node.totals(context.power_rules):
            for channel in node.summed(total):
                if (channel.source, channel.name) not in seen:
                    seen.add((channel.source, channel.name))
                    yield node, total.rule.unit, channel


def _in_run(context: BundleContext, unit: str) -> Iterator[tuple[NodeContext, Channel]]:
    """Those of a unit, within the run and in time."""
    for node, its, channel in _power_channels(context):
        if its == unit and node.is_on_clock and context.window is not None:
            yield node, channel.in_time.during(context.window)


RULES = (
    Rule(
        "power-rules-known",
        "A bundle's power.json lists every power total that rules/power.toml defines for the meters"
        " that were read. Each total in power.json is defined as in rules/power.toml, and the"
        " totals have the same order in both files. The channels that a total adds up have the unit"
        " that rules/power.toml states. A meter whose readings are in watts counts as an analyser"
        " only if their resolution is at most 2 % of the mean power (twice an analyser's error,"
        " which is 1 %).",
        "A power total says which channels are added up. Submitters who chose these channels could"
        " leave some out and so lower the energy. The order decides which total is reported."
        " Milliwatts added as watts would make the energy a thousand times larger. Results that"
        " analysers measured are ranked together, and a plug that reads whole watts is too coarse"
        " to count as an analyser.",
        "never edit power.json or readings; if you programmed a meter, add its power total and tier"
        " to rules/power.toml by a pull request; if the suite reads your meter by meter-csv, state"
        " the meter's tier in /etc/edge-training-suite/meters.toml and run again",
        (
            OfBundle("power-rules-known", _check_power_rules),
            OfBundle("power-units", _units),
            OfBundle("power-resolved", _resolved),
        ),
    ),
    Rule(
        "power-own",
        "Power readings vary and do not repeat. In each channel, no sequence of sixteen consecutive"
        " readings occurs twice, and no ten consecutive readings of the idle machine occur again in"
        " the run; sequences of few different values do not count. A channel's largest value may"
        " occur four times, in 3 % of the readings, or three times as often as the most frequent"
        " other value, whichever allows most; a channel with steps of more than 1 % of its mean"
        " power is exempt. The remaining limits of this rule do not apply to plugs, nor to readings"
        " from another program's file. A power meter with one channel does not read the same value"
        " during the whole run. If a meter has several channels, and one of"
        " them has a fine resolution, no channel of this meter reads the same value during the"
        " whole run. An energy counter does not rise at a constant rate (within 0.01 %). At most"
        " 40 % of a channel's readings are the mean of the reading before and the reading after;"
        " more cause a warning.",
        "Power changes with every training step and every evaluation, and its last digits are"
        " noise. A constant power comes from a broken sensor, or was made up. A sequence that"
        " occurs twice was copied. If the largest value occurs again and again, the meter's range"
        " ends at this value, or readings were edited. If somebody handed in readings of the run as"
        " the idle machine's, the training would seem to add no energy. Readings that are the mean"
        " of their neighbours were computed, to fill gaps or to stretch few readings over a long"
        " run.",
        "check the meter, choose a measuring range that the board's power does not exceed, and run"
        " again; never edit readings",
        (
            OfBundle("power-varies", _varies),
            OfBundle("power-own", _check_repeated_readings),
            OfBundle("power-unclipped", _unclipped),
            OfBundle("baseload-own", _idle_own),
            OfBundle("power-uninterpolated", _own_values, severity=Severity.WARNING),
        ),
    ),
    Rule(
        "power-agrees",
        "A meter's mean power is at most its voltage times its current (tolerance: 15 % of this"
        " product, plus 10 mA times the voltage). A voltage that stays below 60 V is taken for"
        " direct current, where the mean power equals the product (tolerance: 5 %, plus 2 mA times"
        " the voltage). The energy computed from a meter's power equals the rise of the same"
        " meter's energy counter. The tolerance is 5 %, plus 3.6 J, plus the energy that the"
        " largest power adds between two readings.",
        "The meter sends voltage, current, power and energy in one reply, and computes the energy"
        " from its own power. If somebody scaled the power, it would contradict the other values."
        " With alternating current, the power may be less than the product, but not more.",
        READINGS_AS_READ,
        (
            OfBundle("power-as-current", _own_factors),
            OfBundle("power-as-energy", _own_counter),
        ),
    ),
    Rule(
        "meters-agree",
        "If two meters measure the same part of the machine, their energies differ by at most the"
        " sum of the two energies' uncertainties. If the difference is larger, a closed entry is"
        " not ranked by energy until its submitter leaves one of the two meters out and states the"
        " reason. An estimate may differ from a meter.",
        "If two meters disagree, nobody knows which one is right. An estimate leaves out what is"
        " connected to the board's ports, so the meter's energy counts.",
        "find the wrong meter and leave it out: `suite power leave-out RUN METER --reason TEXT`",
        (
            OfBundle("meters-agree", _contradicted, severity=Severity.WARNING),
            OfBundle("meters-left-out", _left_out, severity=Severity.NOTE),
        ),
    ),
    Rule(
        "baseload-measured",
        "If a meter measures a run's power, the same meter also measures the idle machine's power"
        " (the baseload) before the run. The idle machine has at least three readings, over at"
        " least one second. Its last reading is at most five minutes before the run's first"
        " reading; on the first node, before the harness begins to read the data (taken_ns in"
        " data.json).",
        "Without a baseload, nobody can tell how much power the training added. The added energy is"
        " the difference of two measurements by the same meter. Readings from a chosen moment or"
        " from another day do not show the idle machine of this run.",
        "use one meter for the idle machine and the whole run, and run again without the option"
        " --baseload (the default is 10 s) or with more seconds for --baseload",
        (
            OfBundle("baseload-measured", _idle_measured, severity=Severity.WARNING),
            OfBundle("baseload-meter", _idle_meter),
            OfBundle("baseload-metered", _metered),
            OfBundle("baseload-window", _idle_window),
        ),
    ),
)
