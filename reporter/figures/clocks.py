"""Free and locked clocks (DVFS on and off): Figures 6a to 6d of the Jetson study."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reporter.data.frames import Frames, grouped, is_known, rows_of
from reporter.data.frames import Row as Entry
from reporter.data.machine_names import machine_name
from reporter.data.machines import cpu_clock_shares
from reporter.data.selection import choose_rows
from reporter.data.values import entries_of, why_missing
from reporter.figures.energy import ENERGY, Drawn, group_rows, panels_by_instrument
from reporter.figures.entries import entry_estimates
from reporter.figures.for_papers import (
    LOCKED,
    MAX_ROWS,
    OVER_RUNS,
    Notes,
    Varied,
    entry_labels,
    rows_panel,
    varied_groups,
)
from reporter.figures.model import Estimate, Missing, PaperFigure, PlotRow, Rows

FREE_AND_LOCKED = (
    "no training was run both with free clocks and with clocks locked by jetson_clocks, all else"
    " equal"
)
NO_PAIR = "no training has it with free and with locked clocks, from one kind of instrument"
QUANTITIES = {
    "time_to_epoch_s": ("time per epoch, s", 1.0),
    ENERGY: ("energy per epoch, J", 1.0),
    "cpu_utilisation": ("CPU utilisation, %", 1.0),
    "gpu_utilisation": ("GPU utilisation, %", 1.0),
    "gpu_frequency_hz": ("mean GPU clock, MHz", 1e-6),
}
"""Axis and factor by figure."""
OVER_READINGS = OVER_RUNS.replace("its epochs", "its readings")
MAX_CLOCKS, PERCENT = 5, 100.0


def free_and_locked(frames: Frames, *figures: str) -> PaperFigure | Missing:
    """Figures of QUANTITIES with clocks free and locked, a panel each."""
    pairs = _pairs(frames)
    if not pairs:
        return Missing(FREE_AND_LOCKED)
    panels, notes, ids, missing = list[Rows](), list[str](), list[str](), dict[str, str]()
    for figure in figures:
        drawn = _panels(frames, pairs, figure)
        if isinstance(drawn, Missing):
            missing[figure] = drawn.reason
        else:
            panels += drawn[0]
            notes += drawn[1]
            ids += drawn[2]
    if not panels:
        return Missing("; ".join(missing.values()))
    if missing:
        notes.append(f"Not drawn: {'; '.join(missing.values())}.")
    about = (
        "The same training, once with free clocks of CPU and GPU (DVFS on) and once with clocks"
        " locked by jetson_clocks (DVFS off)."
    )
    sensor_of = ENERGY if ENERGY in figures and ENERGY not in missing else None
    shown, once = tuple(dict.fromkeys(ids)), tuple(dict.fromkeys(notes))
    over = OVER_RUNS if {"time_to_epoch_s", ENERGY} & set(figures) else OVER_READINGS
    return PaperFigure(tuple(panels), shown, about, over, once, sensor_of)


def _panels(
    frames: Frames, pairs: Sequence[Varied], figure: str
) -> tuple[tuple[Rows, ...], Notes, tuple[str, ...]] | Missing:
    """A figure of the pairs that have it, a panel per kind of instrument, with notes and entries;
    Missing names the figure."""
    axis, factor = QUANTITIES[figure]
    found = entry_estimates(frames, figure, factor)
    values = {name: (one,) for name, one in found.items()}

    def rows(names: Sequence[str]) -> Drawn:
        drawn = [
            pair for pair in pairs if all(entry["entry_id"] in names for entry in pair.entries)
        ]
        of_pairs, notes, ids = group_rows(frames, drawn, values, "power_mode")
        return _relabelled(of_pairs), notes, ids

    instrument = figure if figure == ENERGY else None
    panels, notes, ids = panels_by_instrument(frames, instrument, axis, found, rows)
    if not panels:
        why = NO_PAIR if found else why_missing(frames, figure)
        return Missing(f"{axis.partition(',')[0]} ({why})")
    return panels, notes, ids


def cpu_residency(frames: Frames) -> PaperFigure | Missing:
    """Share of the readings at each CPU clock, %, stacked: one row per entry, of its first run."""
    runs: dict[str, Entry] = {}
    for run in sorted(rows_of(frames.runs), key=lambda row: (row["seed"], row["run_id"])):
        runs.setdefault(run["entry_id"], run)
    shares = {name: cpu_clock_shares(Path(run["path"])) for name, run in runs.items()}
    shares = {name: of_clock for name, of_clock in shares.items() if of_clock}
    if not shares:
        return Missing("no CPU clock was read (the kernel offers no cpufreq)")
    bins = _bins(sorted({clock for of_clock in shares.values() for clock in of_clock}))
    entries = entries_of(frames)
    labels = entry_labels([entries[name] for name in shares])
    mean_mhz = {
        name: sum(clock * share for clock, share in of_clock.items())
        for name, of_clock in shares.items()
    }
    chosen = choose_rows(mean_mhz, lambda name: str(entries[name]["framework"]), MAX_ROWS)
    rows = [PlotRow(labels[name], _binned([shares[name]], bins)) for name in chosen.ids]
    rows += [
        PlotRow(group.label, _binned([shares[name] for name in group.ids], bins))
        for group in chosen.groups
    ]
    clocks = [f"{low} MHz" if low == high else f"{low}–{high} MHz" for low, high in bins]
    panel = rows_panel("share of the readings, %", rows, clocks, is_stacked=True)
    about = (
        "Clock readings of all cores between run_start and run_stop. For each entry, the run with"
        " the lowest seed is shown."
    )
    middle = "lowest to highest value, with a mark at the median"
    notes = tuple(note.replace(middle, "the mean") for note in chosen.notes)
    return PaperFigure((panel,), tuple(shares), about, "", notes)


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


def _pairs(frames: Frames) -> list[Varied]:
    """Entries whose power modes differ in locked clocks only, the free one first."""
    pairs = []
    for group in varied_groups(frames, entries_of(frames), "power_mode"):
        modes = grouped(
            (entry for entry in group.entries if is_known(entry["power_mode"])),
            lambda entry: str(entry["power_mode"]).replace(f", {LOCKED}", ""),
        )
        for mode, alike in sorted(modes.items()):
            if len({LOCKED in str(entry["power_mode"]) for entry in alike}) > 1:
                parts = (group.heading or machine_name(alike[0]), mode.partition(":")[0])
                in_order = sorted(alike, key=lambda entry: LOCKED in str(entry["power_mode"]))
                pairs.append(Varied(" · ".join(filter(None, parts)), tuple(in_order)))
    return pairs


def _relabelled(rows: Sequence[PlotRow]) -> list[PlotRow]:
    """The rows of a pair are called by what tells them apart."""
    found: list[PlotRow] = []
    for _, group in itertools.groupby(rows, lambda row: row.heading):
        pair, names = list(group), ("free", "locked")
        if len(pair) == len(names) and not any(row.is_group for row in pair):
            pair = [replace(row, label=name) for row, name in zip(pair, names, strict=True)]
        found += pair
    return found
