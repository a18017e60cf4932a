"""Power readings: of a meter that measures a machine under load, and of the idle machine before
it."""

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.attached import SOURCE as ATTACHED
from suite.catalog.power import Coverage, Tier, totals
from suite.compliance.finding import Severity
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.compliance.rules.plausibility import MAX_IDLE_UTILISATION, is_busy

if TYPE_CHECKING:
    from suite.bundle.channels import Channel
    from suite.compliance.node_context import NodeContext

ORDER = 86  # after the power rules

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
"""At the largest value: one reading of 59 to 395 in honest runs with such meters. Coarse sensors
repeat their other values as often."""
MAX_STRAIGHT_SHARE, STRAIGHT_W = 0.4, 1e-9
"""Of three readings in a row, those with equal steps that are not nought: a tenth of a sensor's
with three values; half if filled in."""
MIN_AROUND, MIN_SHARE_AROUND = 4, 0.5
# readings with the idle machine's; that as many of a finer meter are whole steps by chance is
# unlikely: 1e-5
MIN_RESOLVED = 5
DECIMAL_STEPS_W = (100.0, 10.0, 1.0, 0.1)
MAX_IMPLAUSIBLE_SHARE, MIN_IMPLAUSIBLE = 0.05, 3
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


def _units(context: BundleContext) -> Iterator[Violation]:
    for node, unit, channel in _power_channels(context):
        if channel.unit != unit:
            expected = f"{channel.source} {channel.name} in {unit}, as its power rule says"
            yield Violation(node.file, expected, f"in {channel.unit!r}"[:200], READINGS_AS_READ)


def _plausible(context: BundleContext) -> Iterator[Violation]:
    """Check that a meter's power is rarely out of the range that its rule calls plausible: a glitch
    is rare."""
    from suite.metrics.power_totals import power_totals  # start-up: loads numpy

    chosen = [
        (node, total)
        for node in context.nodes
        for total in power_totals(node.channels, context.power_rules, context.window)
    ]
    for node, total in chosen:
        if total.rule.unit != "W":
            continue
        for channel in (node.channels.get(total.source, name) for name in total.channels):
            low_w, high_w = total.rule.plausible_w[0], total.rule.plausible_w[-1]
            outside = int(((channel.values < low_w) | (channel.values > high_w)).sum())
            if outside >= MIN_IMPLAUSIBLE and outside > MAX_IMPLAUSIBLE_SHARE * len(channel):
                expected = (
                    f"readings of {channel.source} {channel.name} from {low_w:g} to {high_w:g} W,"
                    f" {MAX_IMPLAUSIBLE_SHARE:.0%} excepted"
                )
                yield Violation(
                    node.file,
                    expected,
                    f"{outside} of {len(channel)} outside",
                    "repair the meter or its connection; run again",
                )


def _varies(context: BundleContext) -> Iterator[Violation]:
    """Check each channel of the reported total; sensors with coarse steps may repeat a value while
    nothing changes on their rail."""
    from suite.metrics.power_totals import power_totals  # start-up: loads numpy

    window = context.window
    if window is not None:
        yield from _even(context, window)
    on_clock = [node for node in context.nodes if node.is_on_clock and window is not None]
    chosen = [
        (node, total)
        for node in on_clock
        for total in power_totals(node.channels, context.power_rules, window)
    ]
    for node, total in chosen:
        assert window is not None
        if total.rule.unit != "W" or total.source in COARSE:
            continue
        channels = [node.channels.get(total.source, name).during(window) for name in total.channels]
        is_fine = len(channels) == 1 or any(_is_fine(channel) for channel in channels)
        for channel in channels:
            if (
                is_fine
                and len(channel) >= MIN_READINGS
                and channel.mean >= MIN_POWER_W
                and channel.minimum == channel.maximum
            ):
                expected = f"power of {channel.source} {channel.name} that varies under load"
                yield Violation(
                    node.file,
                    expected,
                    f"{channel.minimum:g} W in {len(channel)} readings",
                    "check the meter; run again",
                )


def _even(context: BundleContext, window: tuple[int, int]) -> Iterator[Violation]:
    """Check that energy counters do not rise along a straight line."""
    for node, unit, channel in _power_channels(context):
        counter = channel.in_time.during(window)
        times_ns, values_j = counter.t_ns, counter.values
        if (
            unit != "J"
            or channel.source in COARSE
            or not node.is_on_clock
            or len(counter) <= MIN_RISES_OF_LINE
        ):
            continue
        if not (times_ns[1:] > times_ns[:-1]).all():
            continue  # readings-in-order reports it
        powers_w = (values_j[1:] - values_j[:-1]) / (
            (times_ns[1:] - times_ns[:-1]) * SECONDS_PER_NS
        )
        mean_w = float(powers_w.mean())
        if mean_w >= MIN_POWER_W and float(powers_w.max() - powers_w.min()) <= MIN_SCATTER * mean_w:
            expected = f"power by {counter.source} {counter.name} that varies under load"
            yield Violation(
                node.file,
                expected,
                f"{mean_w:.4g} W between every two of {len(counter)} readings",
                "check the meter; run again",
            )


def _is_fine(channel: "Channel") -> bool:
    """Hardly any value occurs twice: the sensor resolves more than its noise."""
    import numpy as np  # start-up

    return len(channel) >= MIN_READINGS and len(np.unique(channel.values)) > len(channel) / 2


def _own(context: BundleContext) -> Iterator[Violation]:
    """Check that no sequence of readings of the run occurs twice."""
    from suite.compliance.evidence import repeated_block  # start-up: loads numpy

    for node, unit, channel in _power_channels(context):
        places = repeated_block(channel.values, BLOCK, DISTINCT) if unit == "W" else None
        if places is not None:
            observed = (
                f"{BLOCK} readings from number {places[1] + 1} on are those from number"
                f" {places[0] + 1} on"
            )
            yield Violation(
                node.file,
                f"readings of their own of {channel.source} {channel.name}",
                observed,
                READINGS_AS_READ,
            )


def _unclipped(context: BundleContext) -> Iterator[Violation]:
    """Check that a finely resolved power channel does not stand at its largest value in many
    readings, where no other value occurs as often."""
    import numpy as np  # start-up

    window = context.window
    for node, unit, channel in _power_channels(context):
        if unit != "W" or window is None or not node.is_on_clock:
            continue
        values = channel.during(window).known
        if len(values) < MIN_READINGS:
            continue
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) < 3:
            continue
        at_most, others = int(counts[-1]), int(counts[:-1].max())
        if (
            at_most >= MIN_CLIPPED
            and at_most > MAX_CLIPPED_SHARE * len(values)
            and at_most > MORE_THAN_OTHERS * others
        ):
            expected = (
                f"readings of {channel.source} {channel.name} that rarely equal the largest one"
            )
            observed = (
                f"{distinct[-1]:g} W in {at_most} of {len(values)} readings; no other value in more"
                f" than {others}"
            )
            yield Violation(
                node.file,
                expected,
                observed,
                "choose a range of the meter that the board does not exceed; never edit readings",
            )


def _own_values(context: BundleContext) -> Iterator[Violation]:
    """Check that a power channel's readings are rarely on a straight line with both neighbours;
    loggers of other programs may fill in values."""
    import numpy as np  # start-up

    window = context.window
    for node, unit, channel in _power_channels(context):
        if unit != "W" or channel.source in COARSE or window is None or not node.is_on_clock:
            continue
        steps_w = np.diff(channel.in_time.during(window).values)
        if len(steps_w) < MIN_READINGS:
            continue
        is_straight = (np.abs(np.diff(steps_w)) <= STRAIGHT_W) & (np.abs(steps_w[1:]) > STRAIGHT_W)
        count, places = int(is_straight.sum()), len(is_straight)
        if count > MAX_STRAIGHT_SHARE * places:
            expected = (
                f"readings of {channel.source} {channel.name} that rarely are the mean of the one"
                " before and the one after"
            )
            observed = (
                f"{count} of {places} are, the first of them number {int(is_straight.argmax()) + 2}"
                " in the run"
            )
            yield Violation(node.file, expected, observed, READINGS_AS_READ)


def _around(context: BundleContext) -> Iterator[Violation]:
    """Check a board's power right before and right after the run against the idle machine's: the
    same machine is on."""
    window = context.window
    for node in (
        node
        for node in context.nodes
        if node.is_on_clock and window is not None and not is_busy(node)
    ):
        assert window is not None
        for total in totals(
            context.power_rules, ((channel.source, channel.name) for channel in node.channels)
        ):
            channels = [
                (node.channels.get(total.source, name), node.idle.get(total.source, name))
                for name in total.channels
            ]
            if (
                total.rule.coverage is not Coverage.BOARD
                or total.rule.unit != "W"
                or len(channels) != 1
            ):
                continue
            channel, idle = channels[0]
            before, after = (
                channel.select(channel.t_ns < window[0]),
                channel.select(channel.t_ns > window[1]),
            )
            if (
                not len(idle)
                or not len(before)
                or not len(after)
                or len(before) + len(after) < MIN_AROUND
            ):
                continue
            highest_w = max(before.maximum, after.maximum)
            if highest_w < MIN_SHARE_AROUND * idle.minimum:
                expected = (
                    f"{MIN_SHARE_AROUND * idle.minimum:.2f} W or more right before or after the"
                    " run, half of the idle machine's lowest reading"
                )
                observed = (
                    f"{highest_w:.2f} W at most by {channel.source} {channel.name} in"
                    f" {len(before) + len(after)} readings"
                )
                yield Violation(node.file, expected, observed, READINGS_AS_READ)


def _resolved(context: BundleContext) -> Iterator[Violation]:
    """Check the decimal step of an analyser's readings against the error that its total
    promises."""
    import numpy as np  # start-up

    for node in context.nodes:
        for total in totals(
            context.power_rules, ((channel.source, channel.name) for channel in node.channels)
        ):
            if total.rule.tier is not Tier.ANALYSER or total.rule.unit != "W":
                continue
            for channel in (node.channels.get(total.source, name) for name in total.channels):
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
                    expected = (
                        f"an analyser that resolves {2 * error_w:.3g} W or less:"
                        f" {total.rule.gain_error:.0%} of its mean power either way"
                    )
                    fix = (
                        "state the tier of the meter in meters.toml: an analyser, a wall meter, a"
                        " sensor on the board or an estimate"
                    )
                    yield Violation(
                        node.file,
                        expected,
                        f"{channel.source} {channel.name} in steps of {step_w:g} W",
                        fix,
                    )


def _idle_own(context: BundleContext) -> Iterator[Violation]:
    """Check that the idle machine's readings do not occur again in the run, in the same order."""
    import numpy as np  # start-up

    from suite.compliance.evidence import repeated_block  # start-up: loads numpy

    for node, unit, channel in _power_channels(context):
        idle = node.idle.get(channel.source, channel.name)
        if unit != "W" or len(idle) < IDLE_BLOCK:
            continue
        places = repeated_block(
            np.concatenate([idle.values, channel.values]), IDLE_BLOCK, IDLE_DISTINCT
        )
        if places is not None and places[0] < len(idle) <= places[1]:
            observed = (
                f"{IDLE_BLOCK} readings from number {places[0] + 1} on are those of the run from"
                f" number {places[1] - len(idle) + 1} on"
            )
            yield Violation(
                node.idle_file,
                f"readings of the idle machine by {channel.source} {channel.name}",
                observed,
                READINGS_AS_READ,
            )


def _power_channels(context: BundleContext) -> "Iterator[tuple[NodeContext, str, Channel]]":
    """Every channel that a power rule adds up, with the rule's unit."""
    for node in context.nodes:
        seen = set()
        for total in totals(
            context.power_rules, ((channel.source, channel.name) for channel in node.channels)
        ):
            for name in total.channels:
                if (total.source, name) not in seen:
                    seen.add((total.source, name))
                    yield node, total.rule.unit, node.channels.get(total.source, name)


def _idle_meter(context: BundleContext) -> Iterator[Violation]:
    """Check that the idle machine was measured by meters of the run."""
    power = set(chain.from_iterable(rule.sources for rule in context.power_rules))
    for node in context.nodes:
        read = {channel.source for channel in node.channels}
        for source in sorted({channel.source for channel in node.idle} - read - {"cpu"}):
            expected = (
                "the idle machine's power by a meter of the run"
                f" ({', '.join(sorted(read & power)) or 'none'})"
            )
            yield Violation(
                node.idle_file,
                expected,
                f"by {source!r}"[:200],
                "use one meter for both; run again",
            )


def _idle_window(context: BundleContext) -> Iterator[Violation]:
    """Check length and age of the idle machine's power readings, against the first reading of the
    run on the same clock."""
    for node in context.nodes:
        idle = [channel for channel in node.idle if channel.source != "cpu"]
        if not idle or node.channels.span_ns is None:
            continue
        first_ns, last_ns = (
            float(moment)
            for moment in (
                min(each.t_ns.min() for each in idle),
                max(each.t_ns.max() for each in idle),
            )
        )
        length_s, age_s = (
            (last_ns - first_ns) * SECONDS_PER_NS,
            (node.channels.span_ns[0] - last_ns) * SECONDS_PER_NS,
        )
        if length_s < MIN_IDLE_S or max(map(len, idle)) < MIN_IDLE_READINGS:
            expected = (
                f"{MIN_IDLE_READINGS} readings of the idle machine or more, over {MIN_IDLE_S:g} s"
                " or more"
            )
            yield Violation(
                node.idle_file,
                expected,
                f"{max(map(len, idle))} over {length_s:.2f} s",
                "run again without a shorter --baseload",
            )
        if age_s > MAX_IDLE_AGE_S:
            expected = (
                f"the idle machine measured in the {MAX_IDLE_AGE_S:g} s before the run's first"
                " reading"
            )
            yield Violation(node.idle_file, expected, f"{age_s:.0f} s before it", READINGS_AS_READ)


def _idle(context: BundleContext) -> Iterator[Violation]:
    for node in (node for node in context.nodes if is_busy(node)):
        busy = node.idle.get("cpu", "utilisation.total").mean
        expected = (
            f"an idle machine before the run: its processor used to {MAX_IDLE_UTILISATION:g} % at"
            " most"
        )
        yield Violation(
            node.idle_file,
            expected,
            f"{busy:.0f} %",
            "stop other programs, then run again; the baseload is too large",
        )


def _idle_measured(context: BundleContext) -> Iterator[Violation]:
    from suite.metrics.power_totals import power_totals  # start-up: loads numpy

    for node in context.nodes:
        totals = power_totals(node.channels, context.power_rules, context.window)
        if totals and not len(node.idle):
            expected = (
                f"the idle machine's power by {' and '.join(total.source for total in totals)},"
                " which was read during the run"
            )
            yield Violation(
                node.idle_file,
                expected,
                "no reading",
                "run again without --baseload 0, so that the baseload is known",
            )


def _powers(context: BundleContext) -> "Iterator[tuple[NodeContext, Channel]]":
    """Every meter's own power, with its node."""
    for node in context.nodes:
        yield from (
            (node, channel)
            for channel in node.channels
            if channel.name == "power" and channel.unit == "W"
        )


def _own_factors(context: BundleContext) -> Iterator[Violation]:
    """Check each meter's power against its own voltage and current: of direct current their
    product, else at most that."""
    for node, power in _powers(context):
        volts, amperes = (
            node.channels.get(power.source, name).in_time for name in ("voltage", "current")
        )
        count = len(volts)
        if count < MIN_FACTORS or len(amperes) != count or len(power) != count:
            continue
        power_w, product_w = (
            float(power.values.mean()),
            float((volts.values * amperes.values).mean()),
        )
        is_direct = float(volts.maximum) < MAX_DIRECT_V
        share, amperes_off = (
            (DIRECT_SLACK, DIRECT_STEP_A) if is_direct else (MAINS_SLACK, MAINS_STEP_A)
        )
        slack_w = share * product_w + amperes_off * float(volts.values.mean())
        if power_w > product_w + slack_w or (is_direct and power_w < product_w - slack_w):
            expected = (
                f"{product_w - slack_w if is_direct else 0:.2f} to {product_w + slack_w:.2f} W, by"
                f" voltage and current of {power.source}"
            )
            yield Violation(
                node.file,
                expected,
                f"a mean power of {power_w:.2f} W in {count} readings",
                READINGS_AS_READ,
            )


def _own_counter(context: BundleContext) -> Iterator[Violation]:
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
        counted_j, read_j = (
            float(energy.values[last] - energy.values[first]),
            during.mean * length_s,
        )
        slack_j = COUNTER_SLACK * counted_j + late_s * during.maximum + COUNTER_STEP_J
        if abs(counted_j - read_j) > slack_j:
            expected = (
                f"{counted_j:.1f} J within {slack_j:.1f} J, by the energy counter of {power.source}"
                f" in {length_s:.1f} s"
            )
            yield Violation(node.file, expected, f"{read_j:.1f} J by its power", READINGS_AS_READ)


RULES = (
    Rule(
        id="power-units",
        sentence="The channels of a power total are in the unit of its rule.",
        rationale="Milliwatts that are added as watts are a thousandfold.",
        bundle_check=_units,
    ),
    Rule(
        id="power-plausible",
        sentence=(
            "At most a twentieth of a power meter's readings are outside of the range that its rule"
            " calls plausible."
        ),
        rationale=(
            "Glitches are rare, and are left out of the energy; a meter that is often wrong, or"
            " that was edited, measures nothing."
        ),
        bundle_check=_plausible,
    ),
    Rule(
        id="power-varies",
        sentence=(
            "A power meter does not read the same in all of a run, nor does one of its rails while"
            " another rail is resolved finely; an energy counter does not rise along a straight"
            " line."
        ),
        rationale=(
            "Power follows every step and every evaluation; a constant is a broken sensor, or"
            " made up."
        ),
        bundle_check=_varies,
    ),
    Rule(
        id="power-own",
        sentence="No sixteen power readings in a row occur twice in a run.",
        rationale="They are noise in their last digits.",
        bundle_check=_own,
    ),
    Rule(
        id="power-unclipped",
        sentence=(
            "A power meter that resolves finely does not read its largest value in a thirtieth of"
            " the run."
        ),
        rationale=(
            "Peaks of power differ in their last digits. A limit that is reached again and again is"
            " that of the meter's range, or of an edit."
        ),
        bundle_check=_unclipped,
    ),
    Rule(
        id="power-uninterpolated",
        sentence=(
            "At most two fifths of the readings of a power meter that the suite reads are on a"
            " straight line with both neighbours."
        ),
        rationale=(
            "Every reading has noise of its own in its last digits. Straight lines fill holes, or"
            " stretch few readings over a long run."
        ),
        severity=Severity.WARNING,
        bundle_check=_own_values,
    ),
    Rule(
        id="power-around-run",
        sentence=(
            "Right before and right after a run, a board that was idle before draws half of its"
            " lowest idle power or more."
        ),
        rationale=(
            "The same board is on. Lower readings at both ends draw the power down that is"
            " interpolated to the run's start and stop."
        ),
        bundle_check=_around,
    ),
    Rule(
        id="power-resolved",
        sentence=(
            "What is called an analyser resolves the error that its tier promises: two hundredths"
            " of the mean power."
        ),
        rationale=(
            "Results of analysers are ranked with one another. A plug that reads whole watts is a"
            " wall meter."
        ),
        bundle_check=_resolved,
    ),
    Rule(
        id="power-as-current",
        sentence=(
            "A meter's power is at most its own voltage times its own current, and as much where it"
            " meters direct current."
        ),
        rationale=(
            "One reply of the meter has all three. A power that was scaled contradicts the others."
        ),
        bundle_check=_own_factors,
    ),
    Rule(
        id="power-as-energy",
        sentence=(
            "A meter's power adds up to what its own energy counter counts, to a twentieth and the"
            " counter's step."
        ),
        rationale=(
            "The meter integrates its own power. A power that was scaled contradicts the counter."
        ),
        bundle_check=_own_counter,
    ),
    Rule(
        id="baseload-own",
        sentence="No ten readings of the idle machine follow one another in the run too.",
        rationale=(
            "They are noise in their last digits. Readings of the run that are called idle make the"
            " training seem to add nothing."
        ),
        bundle_check=_idle_own,
    ),
    Rule(
        id="baseload-meter",
        sentence="The idle machine's power was read by a meter that was read during the run.",
        rationale="The share of the baseload compares two readings of one meter.",
        bundle_check=_idle_meter,
    ),
    Rule(
        id="baseload-window",
        sentence=(
            "The idle machine's power was read three times or more, over a second or more, five"
            " minutes before the run's first reading at most."
        ),
        rationale="A chosen moment, or one of another day, is no baseload.",
        bundle_check=_idle_window,
    ),
    Rule(
        id="baseload-idle",
        sentence=(
            "Other programs used a quarter of the processor at most while the idle machine was"
            " measured."
        ),
        rationale=(
            "The power of a busy machine is no baseload: what the training added seems smaller."
        ),
        severity=Severity.WARNING,
        bundle_check=_idle,
    ),
    Rule(
        id="baseload-measured",
        sentence="Where power is measured, the idle machine was measured before the run.",
        rationale="Without a baseload nobody can tell what the training added.",
        severity=Severity.WARNING,
        bundle_check=_idle_measured,
    ),
)
