"""Energy per epoch by kind of sensor, as in Figure 2c of Prashanthi et al."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from reporter.data.frames import IDENTITY, NODE_MACHINES, Frames, grouped, is_known
from reporter.data.frames import Row as Entry
from reporter.data.instrument_names import instrument_named, instrument_words, sensor_named
from reporter.data.machine_names import system_name
from reporter.data.quantities import quantity
from reporter.data.text import significant
from reporter.data.values import entries_of, figures_of, values_of, why_missing
from reporter.figures.chart import Chart, Context, row_of, rows_of_entries
from reporter.figures.entries import entry_estimates
from reporter.figures.for_papers import (
    OVER_RUNS,
    Notes,
    Values,
    Varied,
    entry_names,
    flat_rows,
    rows_of_groups,
    rows_panel,
    varied_groups,
)
from reporter.figures.model import Estimate, Missing, PaperFigure, Plot, PlotRow, Rows
from reporter.figures.scales import fitting_scale
from suite.catalog.power import Tier
from suite.catalog.scoring import load_scoring

ENERGY, BASELOAD_ENERGY, BASELOAD = "energy_per_epoch_j", "baseload_per_epoch_j", "baseload_power_w"
AXIS = "energy per epoch, J"
TIERS = [tier.value for tier in Tier]
OF_RUN = [
    name
    for name in IDENTITY
    if name not in ("device", "cpu_model", "gpu", NODE_MACHINES, "power_mode")
]
"""Properties that do not tell idle machines apart."""
WITH_ENERGY = {
    "workers": (1, ""),
    "storage_medium": (2, "storage medium"),
}
"""By the property that a figure varies: how many values it needs, and its name."""
Drawn = tuple[Sequence[PlotRow], Notes, Sequence[str]]
"""Rows, notes on them, and the entries that they are of."""


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """A row per entry, mean of epochs 2 to last. Each kind of sensor has rows and a scale of its
    own: energies of different ones do not compare.

    Bars from zero, with the baseload shaded where it is known; marks on a logarithmic scale where
    the energies of a kind span a decade.
    """
    found, entries = figures_of(frames, ENERGY), entries_of(frames)
    values, idle_j = values_of(frames, ENERGY), values_of(frames, BASELOAD_ENERGY)
    if not values:
        return Missing(why_missing(frames, ENERGY))
    kinds = {name: sensor_named(found[name]["tier"], found[name]["covers"]) for name in values}
    order = sorted(set(kinds.values()), key=lambda kind: (_place(kind), kind))
    capacity = replace(context, max_rows=max(context.max_rows // len(order), 2))

    def row(name: str) -> PlotRow:
        text, value = quantity(values[name], "J")[0], (Estimate(values[name]),)
        bar = row_of(entries[name], value, context, ENERGY, text, text)
        return replace(bar, shaded=idle_j.get(name))

    legend = context.frameworks([entries[name] for name in values])
    panels, notes = list[Rows](), list[str]()
    for kind in order:
        own = {name: values[name] for name in values if kinds[name] == kind}
        rows, note = rows_of_entries(own, entries, row, "J", capacity)
        scale = fitting_scale(list(own.values()))
        title = kind + (", logarithmic" if scale.logarithmic else "")
        panels.append(Rows(title, scale, rows, unit="J", names=legend, has_axis=False))
        notes += [f"Energies by {kind}: {note}"] if note else []
    names = sorted(values, key=lambda name: (order.index(kinds[name]), values[name], name))
    table = tuple(
        (entries[name]["label"], *_parts(values[name], idle_j.get(name)), kinds[name])
        for name in names
    )
    headings = ("entry", "energy per epoch, J", "baseload, J", "baseload, %", "sensor")
    return Plot(tuple(panels), headings, table, " ".join(notes))


def _parts(value: float, idle_j: float | None) -> tuple[str, str, str]:
    """An energy, its baseload, and the share of the latter, as text."""
    if idle_j is None:
        return significant(value), "unknown", "unknown"
    share = f"{100 * idle_j / value:.0f}" if value > 0 else "unknown"
    return significant(value), significant(idle_j), share


def _place(kind: str) -> int:
    """The best kind of instrument first, in the rulebook's order."""
    instruments = load_scoring().instruments()
    return next(
        (each.place for each in instruments if kind == instrument_words(each)), len(instruments)
    )


def energy_by(frames: Frames, varies: str) -> PaperFigure | Missing:
    """Energy per epoch, J, by a property of WITH_ENERGY; a panel per kind of instrument."""
    found, (least, name) = entry_estimates(frames, ENERGY), WITH_ENERGY[varies]
    if not found:
        return Missing(f"the energy is unknown: {why_missing(frames, ENERGY)}")
    values = {entry: (one,) for entry, one in found.items()}

    def rows(names: Sequence[str]) -> Drawn:
        groups = varied_groups(frames, names, varies, least=least)
        return group_rows(frames, groups, values, varies)

    panels, notes, ids = panels_by_instrument(frames, ENERGY, AXIS, values, rows)
    if not panels:
        return Missing(f"no two entries with a known energy differ only in {name}")
    return PaperFigure(panels, ids, "Mean over epochs 2 to last.", OVER_RUNS, notes, ENERGY)


def by_mode(frames: Frames) -> PaperFigure | Missing:
    """Energy per epoch, J, by power mode, of which the baseload; a panel per kind of instrument."""
    found, idle = entry_estimates(frames, ENERGY), entry_estimates(frames, BASELOAD_ENERGY)
    split = {
        name: (
            Estimate(min(idle[name].value, one.value)),
            Estimate(max(one.value - idle[name].value, 0.0), one.low, one.high),
        )
        for name, one in found.items()
        if name in idle
    }
    if not split:
        return Missing(
            "the energy or the baseload (idle power × time) is unknown:"
            f" {why_missing(frames, BASELOAD_ENERGY if found else ENERGY)}"
        )

    def rows(names: Sequence[str]) -> Drawn:
        groups = varied_groups(frames, names, "power_mode")
        return group_rows(frames, groups, split, "power_mode", is_stacked=True)

    stacked = partial(rows_panel, series=("baseload", "training"), is_stacked=True)
    panels, notes, ids = panels_by_instrument(frames, ENERGY, AXIS, split, rows, stacked)
    if not panels:
        return Missing("no two entries with known energy and baseload differ only in power mode")
    about = (
        "Mean over epochs 2 to last. Baseload: power of the idle machine before the run × time per"
        " epoch."
    )
    return PaperFigure(panels, ids, about, f"of the total, {OVER_RUNS}", notes, ENERGY)


def baseload(frames: Frames) -> PaperFigure | Missing:
    """Power of the idle machine, W, before runs; one row per device and power mode, a panel per
    kind of instrument."""
    found, entries = entry_estimates(frames, BASELOAD), entries_of(frames)
    if not found:
        return Missing(f"the baseload is unknown: {why_missing(frames, BASELOAD)}")

    def rows(names: Sequence[str]) -> Drawn:
        of_machine: dict[tuple[str, ...], str] = {}
        for name in sorted(names, key=lambda one: (found[one].value, one)):
            properties = ("device", "cpu_model", "gpu", "power_mode", "nodes")
            machine = (str(entries[name][key]) for key in properties)
            of_machine.setdefault(tuple(machine), name)
        chosen = tuple(of_machine.values())
        labels = {
            name: system_name(entries[name], text)
            for name, text in entry_names([entries[one] for one in chosen], OF_RUN).items()
        }
        bars, notes = flat_rows(frames, {name: (found[name],) for name in chosen}, labels)
        return [replace(bar, style="c0") for bar in bars], notes, chosen

    panels, notes, ids = panels_by_instrument(frames, BASELOAD, "baseload, W", found, rows)
    about = (
        "Power of the idle machine before the run, with the suite's meters on; for each system and"
        " power mode, the entry with the lowest idle power."
    )
    return PaperFigure(panels, ids, about, "± one standard deviation over runs", notes, BASELOAD)


def group_rows(
    frames: Frames, groups: Sequence[Varied], values: Values, varies: str, is_stacked: bool = False
) -> Drawn:
    """The rows of groups of entries."""
    rows, notes = rows_of_groups(frames, groups, values, varies, is_stacked)
    return rows, notes, [entry["entry_id"] for group in groups for entry in group.entries]


def panels_by_instrument(
    frames: Frames,
    figure: str | None,
    axis: str,
    ids: Iterable[str],
    rows_of: Callable[[Sequence[str]], Drawn],
    panel: Callable[[str, Sequence[PlotRow]], Rows] = rows_panel,
) -> tuple[tuple[Rows, ...], Notes, tuple[str, ...]]:
    """A panel per kind of instrument that has rows, with notes and entries; one panel where
    ``figure`` needs no instrument (None)."""
    panels, notes, drawn = list[Rows](), list[str](), list[str]()
    for kind, names in kinds_of(frames, figure, ids).items():
        rows, more, of_kind = rows_of(names)
        if rows:
            panels.append(panel(with_instrument(axis, kind), rows))
            notes += more
            drawn += of_kind
    return tuple(panels), tuple(notes), tuple(drawn)


def kinds_of(frames: Frames, figure: str | None, ids: Iterable[str]) -> dict[str, list[str]]:
    """Entry ids by kind of instrument ("meter at the wall"), the best tier first; where the runs of
    an entry differ: "mixed instruments". All of one kind where ``figure`` needs no instrument."""
    if figure is None:
        return {"": list(ids)}
    rows = figures_of(frames, figure)
    found = grouped(ids, lambda name: _kind(rows[name]))
    return {kind: names for (_, kind), names in sorted(found.items())}


def with_instrument(axis: str, kind: str) -> str:
    """An axis title with its instrument on a line of its own."""
    return f"{axis}\n({kind})" if kind else axis


def _kind(row: Entry) -> tuple[int, str]:
    if not is_known(row["tier"]) or not is_known(row["covers"]):
        return len(TIERS), "mixed instruments"
    tier = str(row["tier"])
    place = TIERS.index(tier) if tier in TIERS else len(TIERS)
    return place, instrument_named(tier, str(row["covers"]))


CHART = Chart(
    "energy-per-epoch",
    "Energy per epoch",
    "Means of epochs 2 to last, over the runs; shaded: baseload. Each kind of sensor has its own "
    "scale: do not compare energies of different kinds of sensor.",
    describe,
    frozenset({"figures", "study"}),
    position=80,
)
