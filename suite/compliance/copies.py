"""Near copies of runs: step times or losses that vary together, step times that are the same in
another order, or power that was read elsewhere.

Two honest runs do not vary together: docs/checking.md has the correlations of honest pairs. For
independent step times the chance of a correlation of MIN_CORRELATIONS is below 1e-20 a pair
(Fisher's z). Losses are compared of closed runs with different seeds: there the seed decides the
order of the samples, so that their losses vary independently. Equal machines compute equal losses
from equal seeds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import SCALE_OF_NORMAL, Integers, Values, median
from suite.bundle.channels import Channel
from suite.bundle.steps import StepRecords

LENGTHS = (256, 100)
"""Numbers of first steps that are compared: the largest that both runs have. Runs with fewer are
not compared."""
MIN_CORRELATIONS = (0.6, 0.8)
LATER_STARTS = (1000, 5000)
"""First steps of the further places, each of LENGTHS[0] steps, at which step times are compared: a
copy may begin with steps of its own."""
KEPT_RATIOS = 256
MIN_SAME_SHARE = 0.25
# steps in the running median that is taken out: warm-up, throttling and the course of an epoch are
# no sign of a copy
NEIGHBOURS = 15
LIMIT = 3.0  # in standard deviations: one hanging card in both runs is no copy
DIGITS = 9
POWER_LENGTH, POWER_DISTINCT, POWER_TURNS, KEPT_POWER = 10, 8, 3, 64
"""Readings in a row, how many of them differ, and how often they turn: what a coarse sensor
repeats, or a steady rise, is no sign of a copy."""
# Fibonacci hashing; SplitMix64 (Steele et al. 2014)
_ODD, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, eq=False)
class StepTimes:
    """What is compared of a run: the variation of its steps and of its losses, one array per
    length, and a sample of the ratios of computing to fetching.

    ``later`` is the variation of the steps at LATER_STARTS. ``seed`` decides the order of the
    samples; None where it need not (the open division), and losses are not compared.

    The sample is the KEPT_RATIOS ratios with the smallest hashes, so that runs with the same ratios
    have the same sample (Broder, "On the resemblance and containment of documents", 1997). Arrays
    are None for a run that is too short or whose steps do not vary.
    """

    variations: tuple[Values | None, ...]
    ratios: Values | None
    losses: tuple[Values | None, ...]
    seed: int | None
    later: tuple[Values | None, ...]


@dataclass(frozen=True)
class Likeness:
    """Two runs, by their places, that are alike; ``what`` says in what."""

    one: int
    other: int
    what: str


def step_times(steps: StepRecords, seed: int | None = None, accumulation: int = 1) -> StepTimes:
    """What is compared of a run's steps: those of rank 0. ``seed`` as in the result,
    ``accumulation`` mini-batches make an update."""
    first = steps.first_rank
    with np.errstate(all="ignore"):  # times may be anything: the rules of bundles report them
        losses: Values = np.log(first.loss[: LENGTHS[0]])
        logarithms: Values = np.log(
            np.nansum(first.parts_s[:, : LATER_STARTS[-1] + LENGTHS[0]], axis=0)
        )
        ratios: Values = np.round(np.log(_computing_s(first)) - np.log(first.fetch_stall_s), DIGITS)
    kinds = _kinds(first, accumulation)
    times, of_losses = (
        tuple(_variation(values[:length], of[:length], length) for length in LENGTHS)
        for values, of in ((logarithms, kinds), (losses, np.zeros_like(kinds)))
    )
    later = tuple(
        _variation(logarithms[place], kinds[place], LENGTHS[0])
        for place in (slice(start, start + LENGTHS[0]) for start in LATER_STARTS)
    )
    return StepTimes(times, _sample(ratios[np.isfinite(ratios)]), of_losses, seed, later)


def _computing_s(steps: StepRecords) -> Values:
    """The times of computing; where steps are not split, those of submitting: from the end of a
    fetch to the next fetch."""
    if steps.is_split:
        return steps.compute_s
    until_next_s: Values = np.append(np.diff(steps.start_ns) * SECONDS_PER_NS, np.nan)
    return until_next_s - steps.fetch_stall_s


def _sample(ratios: Values) -> Values | None:
    """The ratios with the smallest hashes; None for fewer than KEPT_RATIOS different ones."""
    distinct = ratios[np.sort(np.unique(ratios, return_index=True)[1])]
    if len(distinct) < KEPT_RATIOS:
        return None
    # Fibonacci hashing (Knuth, TAOCP 3, section 6.4)
    hashes = (distinct + 0.0).view(np.uint64) * _ODD
    chosen: Values = distinct[np.argsort(hashes >> np.uint64(20), kind="stable")[:KEPT_RATIOS]]
    return chosen


def power_sample(channels: Iterable[Channel]) -> frozenset[int]:
    """Hashes of power readings in a row: the KEPT_POWER smallest of those that vary, so that runs
    with the same power have the same sample."""
    return _row_sample([channel.in_time.values for channel in channels if channel.unit == "W"])


def memory_sample(channels: Iterable[Channel]) -> frozenset[int]:
    """The same of the machine's used memory: to the byte, it takes another course in every run."""
    return _row_sample(
        [
            channel.in_time.values
            for channel in channels
            if (channel.source, channel.name) == ("memory", "used")
        ]
    )


def loss_sample(losses: Values) -> frozenset[int]:
    """The same of losses: those of another seed do not follow one another anywhere."""
    return _row_sample([losses])


def _row_sample(series: Iterable[Values]) -> frozenset[int]:
    found = [_hashes(values) for values in series if len(values) >= POWER_LENGTH]
    return frozenset(sorted({each for of_series in found for each in of_series})[:KEPT_POWER])


def _hashes(values: Values) -> list[int]:
    """The smallest hashes of ``values``, POWER_LENGTH in a row, among those that vary."""
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64)
    count = len(bits) - POWER_LENGTH + 1
    hashes = np.zeros(count, np.uint64)
    for place in range(POWER_LENGTH):
        hashes = (hashes ^ bits[place : place + count]) * _ODD
        hashes ^= hashes >> np.uint64(31)
        hashes *= _MIX
    smallest = np.argsort(hashes, kind="stable")[: 8 * KEPT_POWER]
    return [
        int(hashes[place]) for place in smallest if _varies(values[place : place + POWER_LENGTH])
    ]


def _varies(values: Values) -> bool:
    turns = np.count_nonzero(np.diff(np.sign(np.diff(values))))
    return len(np.unique(values)) >= POWER_DISTINCT and int(turns) >= POWER_TURNS


def _kinds(steps: StepRecords, accumulation: int) -> Integers:
    """What kind each step is: the first of its epoch, the last, an update, or none of them. Every
    run has them at the same places, and they take other times than the rest."""
    _, begins, epoch, counts = np.unique(
        steps.epoch, return_index=True, return_inverse=True, return_counts=True
    )
    place = np.arange(len(steps)) - begins[epoch]
    of_update = min(max(1, accumulation), len(steps) + 1)  # a request may hold any number
    is_update = (place + 1) % of_update == 0
    found: Integers = np.select([place == 0, place == counts[epoch] - 1, is_update], [1, 2, 3], 0)
    return found


def _variation(logarithms: Values, kinds: Integers, length: int) -> Values | None:
    """The steps' variation around the median of their kind and then around their running median,
    clipped, with mean 0 and norm 1; None if there is none."""
    if len(logarithms) < length or not np.isfinite(logarithms).all():
        return None
    rest = logarithms.copy()
    for own in (kinds == kind for kind in np.unique(kinds)):
        rest[own] -= median(logarithms[own] if own.sum() > 1 else logarithms)
    padded = np.pad(rest, NEIGHBOURS // 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, NEIGHBOURS)
    rest -= np.sort(windows, axis=1)[:, NEIGHBOURS // 2]
    deviation = SCALE_OF_NORMAL * float(np.sort(abs(rest))[length // 2])
    if deviation < 1e-9:
        return None
    clipped = np.clip(rest / deviation, -LIMIT, LIMIT)
    clipped -= clipped.mean()
    variation: Values = clipped / np.linalg.norm(clipped)
    return variation


def find_likenesses(runs: Sequence[StepTimes]) -> tuple[Likeness, ...]:
    """Every pair of runs that are near copies, each pair once, the smaller place first."""
    found: dict[tuple[int, int], Likeness] = {}
    by_losses = (
        each
        for each in _alike([run.losses for run in runs], "losses")
        if None is not runs[each.one].seed != runs[each.other].seed is not None
    )
    for likeness in (
        *_alike([run.variations for run in runs], "step times"),
        *_alike_later(runs),
        *_reordered(runs),
        *by_losses,
    ):
        found.setdefault((likeness.one, likeness.other), likeness)
    return tuple(found[pair] for pair in sorted(found))


def _alike(runs: Sequence[tuple[Values | None, ...]], what: str) -> Iterator[Likeness]:
    """Pairs of runs whose variations, one per length, go together, over the most steps that both
    have; ``what`` names the values."""
    for index, (length, least) in enumerate(zip(LENGTHS, MIN_CORRELATIONS, strict=True)):
        longer = {
            place
            for place, variations in enumerate(runs)
            if index and variations[index - 1] is not None
        }
        for one, other, correlation in _correlated(
            [variations[index] for variations in runs], least
        ):
            if not {one, other} <= longer:
                yield Likeness(
                    one,
                    other,
                    f"{what} that vary together (correlation {correlation:.2f} over the first"
                    f" {length} steps)",
                )


def _alike_later(runs: Sequence[StepTimes]) -> Iterator[Likeness]:
    """Pairs of runs whose step times vary together at a later place."""
    for index, start in enumerate(LATER_STARTS):
        for one, other, correlation in _correlated(
            [run.later[index] for run in runs], MIN_CORRELATIONS[0]
        ):
            where = f"over the steps {start + 1} to {start + LENGTHS[0]}"
            yield Likeness(
                one, other, f"step times that vary together (correlation {correlation:.2f} {where})"
            )


def _correlated(
    variations: Sequence[Values | None], least: float
) -> Iterator[tuple[int, int, float]]:
    """The pairs of places whose variations have this correlation or a larger one, with it."""
    known = {place: each for place, each in enumerate(variations) if each is not None}
    if len(known) < 2:
        return
    places, rows = list(known), np.stack(list(known.values()))
    correlations = rows @ rows.T
    for first, second in zip(*np.nonzero(np.triu(correlations, 1) >= least), strict=True):
        yield places[first], places[second], float(correlations[first, second])


def _reordered(runs: Sequence[StepTimes]) -> Iterator[Likeness]:
    """Pairs of runs that share many ratios of computing to fetching, to nine decimals of their
    logarithms, in whatever order."""
    places: dict[float, list[int]] = {}
    for place, run in enumerate(runs):
        for ratio in () if run.ratios is None else run.ratios.tolist():
            places.setdefault(ratio, []).append(place)
    shared: Counter[tuple[int, int]] = Counter()
    # with the first run of this ratio only: the number of pairs stays bounded
    for one, *others in places.values():
        shared.update((one, other) for other in others)
    for (one, other), count in shared.items():
        if count >= MIN_SAME_SHARE * KEPT_RATIOS:
            yield Likeness(
                one,
                other,
                f"the same ratio of compute time to fetch time in {count} of {KEPT_RATIOS}"
                " compared steps",
            )
