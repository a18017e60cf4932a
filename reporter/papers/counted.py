"""Figures 2a, 2c and 2e to 2h of the Raspberry Pi study from counts of valgrind's cachegrind (`suite cachegrind`)."""

from reporter.figures.counters import COUNTERS
from reporter.papers.model import Bar, BarGroup, Bars, Estimate, PaperFigure
from suite.catalog.frameworks import load_framework
from suite.catalog.papers import Item
from suite.metrics.counted_steps import CountedSteps, figures

FIGURES = {
    "pi-2a": ("instructions",),
    "pi-2c": ("l1d_access",),
    "pi-2e": ("l1d_refill",),
    "pi-2f": ("l1d_miss_ratio",),
    "pi-2g": ("branches", "branch_mispredicts"),
    "pi-2h": ("branch_mispredict_ratio",),
}
SIMULATED = frozenset({"l1d_refill", "l1d_miss_ratio", "branch_mispredicts", "branch_mispredict_ratio"})
"""Figures of cachegrind's model of caches and branch predictor; all others are counted."""


def draw(item: Item, record: CountedSteps) -> PaperFigure:
    """A bar per framework; an axis of simulated figures says so."""
    by_name = {counter.figure: counter for counter in COUNTERS}
    of, panels = figures(record), []
    for name in FIGURES[item.id]:
        counter = by_name[name]
        bars = tuple(
            Bar(load_framework(framework).title, (Estimate(values[name] * counter.factor),), style)
            for style, (framework, values) in enumerate(of.items())
        )
        mark = " (simulated caches)" if name.startswith("l1d") else " (simulated)"
        panels.append(Bars(counter.title + (mark if name in SIMULATED else ""), (BarGroup("", bars),)))
    return PaperFigure(tuple(panels), (), _about(record, FIGURES[item.id]), "none: counts of one pair of processes of each framework")


def _about(record: CountedSteps, names: tuple[str, ...]) -> str:
    versions = ", ".join(f"{load_framework(name).title} {pair[0].framework_version or ''}".strip() for name, pair in record.pairs.items())
    steps = sorted({more.steps - fewer.steps for fewer, more in record.pairs.values()})
    caches = f" Caches: those of a {record.caches.processor}, without prefetching." if SIMULATED & set(names) else ""
    return (
        f"{record.workload} on {record.data} ({versions}; mini-batches of {record.batch_size}, {record.threads} thread), "
        f"counted by {record.source.split(',')[0]} ({record.valgrind}): a step's counts, from {' and '.join(map(str, steps))} steps, times the "
        f"{record.steps_per_epoch} steps of an epoch, no evaluation; x86-64 instructions of {record.cpu_model or 'an unknown processor'}.{caches}"
    )
