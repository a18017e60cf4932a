"""Free and locked clocks (DVFS on and off): Figures 6a to 6d of the Jetson study."""

import itertools
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from reporter.data.frames import Frames, Row, known, rows_of
from reporter.data.machine_names import machine_name
from reporter.data.machines import cpu_clock_shares
from reporter.data.selection import choose
from reporter.data.values import entries_of, why_missing
from reporter.papers.energy import ENERGY, kinds_of, with_instrument
from reporter.papers.entries import (
    LOCKED,
    MAX_ROWS,
    OVER_RUNS,
    Varied,
    estimates,
    names_of,
    property_text,
    rows_of_groups,
)
from reporter.papers.entries import varied as varied_of
from reporter.papers.model import Bar, BarGroup, Bars, Estimate, Missing, Panel, PaperFigure

FREE_AND_LOCKED = (
    "no training was run with its clocks free and locked (jetson_clocks) and all else equal"
)
MAX_CLOCKS = 5
BY_FREQUENCY = 1e-6
PERCENT = 100.0


def time_and_energy(frames: Frames) -> PaperFigure | Missing:
    """Time, s, and energy, J, per epoch with clocks free and locked."""
    return _figure(
        frames,
        (("time per epoch, s", "time_to_epoch_s", 1.0), ("energy per epoch, J", ENERGY, 1.0)),
        ENERGY,
    )


def utilisation(frames: Frames) -> PaperFigure | Missing:
    """Mean utilisation of CPU and GPU, %, with clocks free and locked."""
    return _figure(
        frames,
        (
            ("CPU utilisation, %", "cpu_utilisation", 1.0),
            ("GPU utilisation, %", "gpu_utilisation", 1.0),
        ),
    )


def gpu_clock(frames: Frames) -> PaperFigure | Missing:
    """Mean GPU clock, MHz, with clocks free and locked."""
    return _figure(frames, (("mean GPU clock, MHz", "gpu_frequency_hz", BY_FREQUENCY),))


def cpu_residency(frames: Frames) -> PaperFigure | Missing:
    """Share of the readings at each CPU clock, %, stacked: one row per entry, of its first run."""
    runs: dict[str, Row] = {}
    for run in sorted(rows_of(frames.runs), key=lambda row: (row["seed"], row["run_id"])):
        runs.setdefault(run["entry_id"], run)
    shares = {name: cpu_clock_shares(Path(run["path"])) for name, run in runs.items()}
    shares = {name: of_clock for name, of_clock in shares.items() if of_clock}
    if not shares:
        return Missing("no CPU clock was read (the kernel offers no cpufreq)")
    bins = _bins(sorted({clock for of_clock in shares.values() for clock in of_clock}))
    entries = entries_of(frames)
    names = names_of([entries[name] for name in shares])
    mean_mhz = {
        name: sum(clock * share for clock, share in of_clock.items())
        for name, of_clock in shares.items()
    }
    chosen = choose(mean_mhz, lambda name: str(entries[name]["framework"]), MAX_ROWS)
    bars = [
        Bar(names[name] or property_text(entries[name], "framework"), _binned([shares[name]], bins))
        for name in chosen.ids
    ]
    bars += [
        Bar(
            f"{len(group.ids)} more · {property_text(entries[group.ids[0]], 'framework')}",
            _binned([shares[name] for name in group.ids], bins),
        )
        for group in chosen.groups
    ]
    panel = Bars(
        "share of the readings, %",
        (BarGroup("", tuple(bars)),),
        tuple(_clock_text(*one) for one in bins),
        is_stacked=True,
    )
    about = (
        "Readings of the clocks of all cores between run_start and run_stop, of each entry's run"
        " with the lowest seed."
    )
    note = chosen.note.replace("lowest to highest value, with a mark at the median", "the mean")
    return PaperFigure((panel,), tuple(shares), about, "", (note,) if note else ())


def _binned(shares: list[dict[int, float]], bins: list[tuple[int, int]]) -> tuple[Estimate, ...]:
    return tuple(
        Estimate(
            PERCENT
            * sum(share for one in shares for clock, share in one.items() if low <= clock <= high)
            / len(shares)
        )
        for low, high in bins
    )


def _bins(clocks: list[int]) -> list[tuple[int, int]]:
    """Ranges of clocks, MHz: one for each, or MAX_CLOCKS ranges of equally many."""
    if len(clocks) <= MAX_CLOCKS:
        return [(clock, clock) for clock in clocks]
    edges = [round(index * len(clocks) / MAX_CLOCKS) for index in range(MAX_CLOCKS + 1)]
    return [(clocks[first], clocks[last - 1]) for first, last in itertools.pairwise(edges)]


def _clock_text(low: int, high: int) -> str:
    return f"{low} MHz" if low == high else f"{low}–{high} MHz"


def _figure(
    frames: Frames, quantities: tuple[tuple[str, str, float], ...], sensor_of: str | None = None
) -> PaperFigure | Missing:
    pairs = _pairs(frames)
    if not pairs:
        return Missing(FREE_AND_LOCKED)
    ids = [entry["entry_id"] for pair in pairs for entry in pair.entries]
    panels, notes = list[Panel](), list[str]()
    for axis, figure, factor in quantities:
        found = estimates(frames, figure, factor)
        for kind, names in (
            kinds_of(frames, figure, found) if figure == sensor_of else {"": list(found)}
        ).items():
            drawn = [
                pair for pair in pairs if all(entry["entry_id"] in names for entry in pair.entries)
            ]
            if drawn:
                groups, note = rows_of_groups(frames, drawn, partial(_only, found), ("power_mode",))
                panels.append(Bars(with_instrument(axis, kind), _relabelled(groups)))
                notes += [note] if note else []
        if not found:
            notes.append(f"Not drawn: {axis.partition(',')[0]} ({why_missing(frames, figure)}).")
    if not panels:
        return Missing("; ".join(notes))
    about = (
        "The same training with the clocks of CPU and GPU free (DVFS on) and locked by"
        " jetson_clocks (DVFS off)."
    )
    return PaperFigure(
        tuple(panels), tuple(ids), about, OVER_RUNS, tuple(dict.fromkeys(notes)), sensor_of
    )


def _only(found: Mapping[str, Estimate], entry: Row) -> tuple[Estimate, ...]:
    return (found[entry["entry_id"]],)


def _pairs(frames: Frames) -> list[Varied]:
    """Entries whose power modes differ in locked clocks only, the free one first."""
    pairs = []
    for group in varied_of(frames, entries_of(frames), ("power_mode",)):
        modes: dict[str, list[Row]] = {}
        for entry in (entry for entry in group.entries if known(entry["power_mode"])):
            modes.setdefault(str(entry["power_mode"]).replace(f", {LOCKED}", ""), []).append(entry)
        for mode, alike in sorted(modes.items()):
            if len(alike) > 1:
                heading = " · ".join(
                    part
                    for part in (group.heading or machine_name(alike[0]), mode.partition(":")[0])
                    if part
                )
                pairs.append(
                    Varied(
                        heading,
                        tuple(sorted(alike, key=lambda entry: LOCKED in str(entry["power_mode"]))),
                    )
                )
    return pairs


def _relabelled(groups: tuple[BarGroup, ...]) -> tuple[BarGroup, ...]:
    """The bars of a pair are called by what tells them apart."""
    names = ("free", "locked")
    return tuple(
        (
            BarGroup(
                group.heading,
                tuple(
                    Bar(name, bar.values, bar.style)
                    for name, bar in zip(names, group.bars, strict=True)
                ),
            )
            if len(group.bars) == len(names) and not any(bar.is_group for bar in group.bars)
            else group
        )
        for group in groups
    )
