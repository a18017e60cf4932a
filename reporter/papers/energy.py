"""Energy per epoch and baseload: Figures 2c, 3c, 7 and 9b of the Jetson study. Energies of
different instruments are never in one panel."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reporter.data.frames import Frames, Row, known
from reporter.data.instrument_names import instrument_named
from reporter.data.machine_names import short_title
from reporter.data.values import entries_of, figures_of, why_missing
from reporter.papers.entries import (
    OVER_RUNS,
    estimates,
    flat_rows,
    names_of,
    rows_of_groups,
    varied,
)
from reporter.papers.model import Bar, BarGroup, Bars, Estimate, Missing, Panel, PaperFigure
from suite.catalog.power import Tier

ENERGY, BASELOAD_ENERGY, BASELOAD = "energy_per_epoch_j", "baseload_per_epoch_j", "baseload_power_w"
TIERS = [tier.value for tier in Tier]


def by_workers(frames: Frames) -> PaperFigure | Missing:
    """Energy per epoch, J, by data-loading processes; a panel per kind of instrument."""
    return _by(frames, ("workers",), 1, "")


def by_storage(frames: Frames) -> PaperFigure | Missing:
    """Energy per epoch, J, by storage medium; a panel per kind of instrument."""
    return _by(frames, ("storage_medium",), 2, "two storage media")


def by_mode(frames: Frames) -> PaperFigure | Missing:
    """Energy per epoch, J, by power mode, of which the baseload; a panel per kind of instrument."""
    found, idle = estimates(frames, ENERGY), estimates(frames, BASELOAD_ENERGY)
    split = {
        name: (
            Estimate(min(idle[name].value, one.value)),
            Estimate(max(one.value - idle[name].value, 0.0), one.low, one.high),
        )
        for name, one in found.items()
        if name in idle
    }
    if not found or not split:
        return Missing(
            "the energy or the baseload is unknown:"
            f" {why_missing(frames, BASELOAD_ENERGY if found else ENERGY)}"
        )
    panels, notes, ids = list[Panel](), list[str](), list[str]()
    for kind, names in kinds_of(frames, ENERGY, split).items():
        if groups := varied(frames, names, ("power_mode",)):
            rows, note = rows_of_groups(
                frames,
                groups,
                lambda entry: split[entry["entry_id"]],
                ("power_mode",),
                is_stacked=True,
            )
            panels.append(
                Bars(
                    with_instrument("energy per epoch, J", kind),
                    rows,
                    ("baseload", "training"),
                    is_stacked=True,
                )
            )
            notes += [note] if note else []
            ids += [entry["entry_id"] for group in groups for entry in group.entries]
    if not panels:
        return Missing("no training was run in two power modes with all else equal")
    about = (
        "Mean over epochs 2 to last. Baseload: the power of the idle machine before the run, times"
        " the time of an epoch."
    )
    return PaperFigure(
        tuple(panels), tuple(ids), about, f"of the total, {OVER_RUNS}", tuple(notes), ENERGY
    )


def baseload(frames: Frames) -> PaperFigure | Missing:
    """Power of the idle machine, W, before runs; one row per device and power mode, a panel per
    kind of instrument."""
    found = estimates(frames, BASELOAD)
    if not found:
        return Missing(f"the baseload is unknown: {why_missing(frames, BASELOAD)}")
    entries, panels, notes, ids = entries_of(frames), list[Panel](), list[str](), list[str]()
    for kind, names in kinds_of(frames, BASELOAD, found).items():
        of_machine: dict[tuple[str, ...], str] = {}
        for name in sorted(names, key=lambda one: (found[one].value, one)):
            of_machine.setdefault(
                tuple(str(entries[name][key]) for key in ("device", "cpu_model", "power_mode")),
                name,
            )
        chosen = list(of_machine.values())
        machines = [{**entries[name], **dict.fromkeys(_OF_RUN)} for name in chosen]
        labels = {
            name: text or short_title(entries[name]) for name, text in names_of(machines).items()
        }
        bars, note = flat_rows(frames, {name: (found[name],) for name in chosen}, labels)
        panels.append(
            Bars(
                with_instrument("baseload, W", kind),
                (BarGroup("", tuple(_in_one_style(bar) for bar in bars)),),
            )
        )
        notes += [note] if note else []
        ids += chosen
    about = (
        "Power of the idle machine before the run, with the suite's meters on; of each device and"
        " power mode the entry with the lowest one."
    )
    return PaperFigure(
        tuple(panels),
        tuple(ids),
        about,
        "± one standard deviation over runs",
        tuple(notes),
        BASELOAD,
    )


_OF_RUN = (
    "workload",
    "data",
    "framework",
    "framework_version",
    "batch_size",
    "threads",
    "workers",
    "learning_rate",
    "organization",
    "round",
    "nodes",
    "ranks",
    "collective",
    "isolation",
    "normalisation",
    "division",
    "epoch_budget",
    "suite_version",
    "storage_medium",
    "accelerator",
    "availability",
)
"""Properties that do not tell idle machines apart."""


def kinds_of(frames: Frames, figure: str, ids: Iterable[str]) -> dict[str, list[str]]:
    """Entry ids by kind of instrument ("meter at the wall"), the best tier first; where the runs of
    an entry differ: "mixed instruments"."""
    rows, found = figures_of(frames, figure), dict[tuple[int, str], list[str]]()
    for name in ids:
        found.setdefault(_kind(rows[name]), []).append(name)
    return {kind: names for (_, kind), names in sorted(found.items())}


def with_instrument(axis: str, kind: str) -> str:
    """An axis title with its instrument on a line of its own."""
    return f"{axis}\n({kind})" if kind else axis


def _kind(row: Mapping[str, object]) -> tuple[int, str]:
    if not known(row["tier"]) or not known(row["covers"]):
        return len(TIERS), "mixed instruments"
    tier = str(row["tier"])
    return TIERS.index(tier) if tier in TIERS else len(TIERS), instrument_named(
        tier, str(row["covers"])
    )


def _by(
    frames: Frames, properties: Sequence[str], least: int, needed: str
) -> PaperFigure | Missing:
    found = estimates(frames, ENERGY)
    if not found:
        return Missing(f"the energy is unknown: {why_missing(frames, ENERGY)}")
    panels, notes, ids = list[Panel](), list[str](), list[str]()

    def energy(entry: Row) -> tuple[Estimate, ...]:
        return (found[entry["entry_id"]],)

    for kind, names in kinds_of(frames, ENERGY, found).items():
        if groups := varied(frames, names, properties, least):
            rows, note = rows_of_groups(frames, groups, energy, properties)
            panels.append(Bars(with_instrument("energy per epoch, J", kind), rows))
            notes += [note] if note else []
            ids += [entry["entry_id"] for group in groups for entry in group.entries]
    if not panels:
        return Missing(f"no training with a known energy was run with {needed} and all else equal")
    return PaperFigure(
        tuple(panels), tuple(ids), "Mean over epochs 2 to last.", OVER_RUNS, tuple(notes), ENERGY
    )


def _in_one_style(bar: Bar) -> Bar:
    return replace(bar, style=0)
